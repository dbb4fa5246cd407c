#include "thalweg/monitor/exchanges.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <list>
#include <microhttpd.h>
#include <optional>
#include <string_view>
#include <strings.h>
#include <sys/socket.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/monitor/worker.h"

namespace thalweg::monitor {
namespace {

constexpr std::uint64_t kIdleNs = 10'000 * base::kMsNs; // while there are no connections
constexpr unsigned kDaemonFlags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME;
constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::size_t kMostWaiting = 8; // requests that wait for the worker

struct HttpConnection {
    int socket;
    std::uint64_t deadline_ns;
    bool is_local;
    MHD_Connection* suspended = nullptr; // while it is in `answering`
};

// A request whose body is still coming, or whose answer is.
struct Exchange {
    HttpRequest request;
    bool is_too_large = false;
    std::optional<HttpAnswer> answer = {}; // by the worker; the connection is resumed afterwards
};

// Keeps the headers that matter. All headers with the same name are kept, because two different ones may be an attack.
MHD_Result keep_header(void* of, MHD_ValueKind, char const* name, char const* value) noexcept try {
    auto& request = *static_cast<HttpRequest*>(of);
    auto const is = [name](char const* wanted) { return ::strcasecmp(name, wanted) == 0; };
    if (is("Host")) request.hosts.emplace_back(value ? value : "");
    if (is("Authorization")) request.authorization.emplace_back(value ? value : "");
    if (is("Origin")) request.is_of_web_page = true;
    return MHD_YES;
} catch (std::exception const&) {
    return MHD_NO; // out of memory; a request without Host is refused
}

// Paths are compared as they were sent: a path with escapes is another path.
std::size_t leave_escapes(void*, MHD_Connection*, char* text) { return std::string_view(text).size(); }

void end_exchange(void*, MHD_Connection*, void** exchange, MHD_RequestTerminationCode) {
    delete static_cast<Exchange*>(*exchange);
    *exchange = nullptr;
}

MHD_Result send(MHD_Connection* connection, HttpAnswer const& answer) {
    // The library copies the text and does not change it, although its type suggests otherwise.
    auto* const text = const_cast<char*>(answer.text.data());
    auto* const response = ::MHD_create_response_from_buffer(answer.text.size(), text, MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) return MHD_NO;
    auto const add = [&](char const* name, char const* value) { ::MHD_add_response_header(response, name, value); };
    add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    add("X-Content-Type-Options", "nosniff");
    add("Cache-Control", "no-store");
    add("Connection", "close");
    for (auto const& [name, value] : answer.headers) add(name.c_str(), value.c_str());
    auto const result = ::MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
    ::MHD_destroy_response(response);
    return result;
}

} // namespace

struct Exchanges::State {
    State(HttpPages the_pages, Access the_access, HttpLimits the_limits, std::function<void()> the_wake);
    ~State() {
        worker.reset(); // from here on no other thread uses the library
        for (auto const& connection : answering) ::MHD_resume_connection(connection.suspended);
        if (daemon != nullptr) ::MHD_stop_daemon(daemon);
    }

    // The library calls these functions.
    static void on_connection(void* self, MHD_Connection*, void** context, MHD_ConnectionNotificationCode) noexcept;
    static MHD_Result on_request(void* self, MHD_Connection*, char const* path, char const* method, char const* version,
                                 char const* bytes, std::size_t* size, void** exchange) noexcept;

    MHD_Result begin(MHD_Connection* connection, HttpRequest request, void** exchange) const;
    MHD_Result answer(MHD_Connection* connection, Exchange& exchange);
    MHD_Result hand_to_worker(MHD_Connection* connection, Exchange& exchange);
    void take_back(HttpConnection& connection);
    void end_oldest();
    void end_overdue();

    HttpPages pages;
    Access access;
    HttpLimits limits;
    std::function<void()> wake;
    MHD_Daemon* daemon = nullptr;
    std::list<HttpConnection> connections; // by age; the first is the oldest
    std::list<HttpConnection> coming;      // handed to the library, which has not accepted it yet
    std::list<HttpConnection> answering;   // the worker has their requests; they have no deadline meanwhile
    std::optional<Worker> worker{kMostWaiting};
};

namespace {

HttpConnection& connection_of(MHD_Connection* connection) {
    auto const* const context = ::MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return *static_cast<HttpConnection*>(context->socket_context);
}

} // namespace

Exchanges::State::State(HttpPages the_pages, Access the_access, HttpLimits the_limits, std::function<void()> the_wake)
    : pages(std::move(the_pages)), access(std::move(the_access)), limits(the_limits), wake(std::move(the_wake)) {
    // This class keeps time-outs and the number of connections: the library measures silence, and not the whole time.
    daemon = ::MHD_start_daemon(kDaemonFlags, 0, nullptr, nullptr, &State::on_request, this,                //
                                MHD_OPTION_NOTIFY_CONNECTION, &State::on_connection, this,                  //
                                MHD_OPTION_NOTIFY_COMPLETED, &end_exchange, nullptr,                        //
                                MHD_OPTION_UNESCAPE_CALLBACK, &leave_escapes, nullptr,                      //
                                MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.head_bytes,                      //
                                MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(limits.connections + 1), //
                                MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (daemon == nullptr) base::fail_system({"cannot start the HTTP server"}, errno);
}

void Exchanges::State::on_connection(void* self, MHD_Connection*, void** context,
                                     MHD_ConnectionNotificationCode what) noexcept {
    auto& state = *static_cast<State*>(self);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        THALWEG_ASSERT(state.coming.size() == 1, "the library accepts the connection that was handed to it");
        state.connections.splice(state.connections.end(), state.coming);
        *context = &state.connections.back();
    } else {
        for (auto* const list : {&state.connections, &state.answering})
            list->remove_if([&](HttpConnection const& it) { return &it == *context; });
    }
}

MHD_Result Exchanges::State::on_request(void* self, MHD_Connection* connection, char const* path, char const* method,
                                        char const* version, char const* bytes, std::size_t* size, void** kept) noexcept
    try {
    auto& state = *static_cast<State*>(self);
    if (*kept == nullptr) {
        HttpRequest request{.method = method, .path = path};
        request.has_old_version = std::string_view(version) != MHD_HTTP_VERSION_1_1;
        request.is_local = connection_of(connection).is_local;
        ::MHD_get_connection_values(connection, MHD_HEADER_KIND, &keep_header, &request);
        return state.begin(connection, std::move(request), kept);
    }
    auto& exchange = *static_cast<Exchange*>(*kept);
    if (*size == 0) return state.answer(connection, exchange);
    // The rest of a request that is too large is read until its time is over: the library accepts an answer only at its
    // end.
    if (exchange.request.body.size() + *size > kMaxBodyBytes) exchange.is_too_large = true;
    if (!exchange.is_too_large) exchange.request.body.append(bytes, *size);
    *size = 0;
    return MHD_YES;
} catch (std::exception const&) {
    return MHD_NO; // out of memory: this connection ends
}

MHD_Result Exchanges::State::begin(MHD_Connection* connection, HttpRequest request, void** exchange) const {
    if (auto const refused = refusal_of(request, pages, access)) return send(connection, *refused);
    *exchange = new Exchange{std::move(request)};
    return MHD_YES;
}

// The library calls this for a whole request, and again after the worker has answered it.
MHD_Result Exchanges::State::answer(MHD_Connection* connection, Exchange& exchange) {
    if (exchange.is_too_large) return send(connection, too_large());
    if (exchange.answer) {
        take_back(connection_of(connection));
        return send(connection, *exchange.answer);
    }
    if (may_take_long(exchange.request, pages)) return hand_to_worker(connection, exchange);
    return send(connection, answer_to(exchange.request, pages));
}

MHD_Result Exchanges::State::hand_to_worker(MHD_Connection* connection, Exchange& exchange) {
    ::MHD_suspend_connection(connection);
    auto const task = [this, connection, &exchange] {
        exchange.answer = answer_to(exchange.request, pages);
        ::MHD_resume_connection(connection);
        wake();
    };
    if (worker->take(task)) {
        auto const is_it = [&](HttpConnection const& it) { return &it == &connection_of(connection); };
        answering.splice(answering.end(), connections, std::ranges::find_if(connections, is_it));
        answering.back().suspended = connection;
    } else {
        exchange.answer = too_many();
        ::MHD_resume_connection(connection);
        wake();
    }
    return MHD_YES;
}

void Exchanges::State::take_back(HttpConnection& connection) {
    auto const is_it = [&](HttpConnection const& it) { return &it == &connection; };
    auto const place = std::ranges::find_if(answering, is_it);
    if (place == answering.end()) return; // the worker had not taken it
    connection.suspended = nullptr;
    connection.deadline_ns = base::monotonic_ns() + limits.connection_ns; // to take the answer
    connections.splice(connections.end(), answering, place);
}

void Exchanges::State::end_oldest() {
    if (connections.empty()) return; // all wait for the worker
    // The library notices that the other side closed it, removes it, and calls on_connection().
    ::shutdown(connections.front().socket, SHUT_RDWR);
    connections.front().deadline_ns = kNever;
    connections.splice(connections.end(), connections, connections.begin());
}

void Exchanges::State::end_overdue() {
    auto const now_ns = base::monotonic_ns();
    while (!connections.empty() && connections.front().deadline_ns <= now_ns) end_oldest();
}

Exchanges::Exchanges(HttpPages pages, Access access, HttpLimits limits, std::function<void()> wake)
    : state_(std::make_unique<State>(std::move(pages), std::move(access), limits, std::move(wake))) {}

Exchanges::~Exchanges() = default;

void Exchanges::end() { state_.reset(); }

void Exchanges::add(base::FileDescriptor const& socket, bool is_local) {
    auto& state = *state_;
    // The oldest connection makes room, not the newest: silent clients cannot keep others out.
    if (count() >= state.limits.connections) {
        state.end_oldest();
        ::MHD_run(state.daemon);
    }
    // The library closes the socket in any case, even if it refuses the connection, so it gets a duplicate.
    int const own = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0);
    if (own < 0) base::fail_system({"cannot accept a connection"}, errno);
    state.coming.push_back({own, base::monotonic_ns() + state.limits.connection_ns, is_local});
    sockaddr_storage nowhere{.ss_family = AF_UNSPEC}; // the library does not use the address
    ::MHD_add_connection(state.daemon, own, reinterpret_cast<sockaddr*>(&nowhere), sizeof(sockaddr));
    state.coming.clear();
}

void Exchanges::go_on() {
    state_->end_overdue();
    ::MHD_run(state_->daemon);
}

int Exchanges::epoll() const { return ::MHD_get_daemon_info(state_->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd; }

std::uint64_t Exchanges::wait_ns() const {
    auto wait_ns = kIdleNs;
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    if (::MHD_get_timeout(state_->daemon, &wait_ms) == MHD_YES)
        wait_ns = std::min<std::uint64_t>(wait_ns, wait_ms * base::kMsNs);
    if (state_->connections.empty()) return wait_ns;
    auto const now_ns = base::monotonic_ns();
    auto const deadline_ns = state_->connections.front().deadline_ns;
    return std::min(wait_ns, deadline_ns - std::min(deadline_ns, now_ns));
}

std::size_t Exchanges::count() const { return state_->connections.size() + state_->answering.size(); }

} // namespace thalweg::monitor
