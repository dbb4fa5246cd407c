#include "thalweg/monitor/http_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <pthread.h>
#include <sys/socket.h>
#include <thread>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/monitor/http_answer.h"
#include "thalweg/monitor/http_request.h"
#include "thalweg/transport/poller.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::monitor {
namespace {

constexpr std::uint64_t kListenerKey = 0;
constexpr std::uint64_t kRestNs = 100'000'000;    // after the machine had no descriptor for a new connection
constexpr std::uint64_t kIdleNs = 10'000'000'000; // nobody waits for anything
constexpr int kAcceptedAtOnce = 8;

// Reads its request, then sends its answer, then reads on until the client has closed: if we closed first while
// something of the client's lay unread, the kernel would cut off our answer.
struct Connection {
    base::FileDescriptor socket;
    std::uint64_t deadline_ns = 0;
    std::string request;
    std::string answer;
    std::size_t sent_bytes = 0;

    bool is_reading() const { return answer.empty(); }
    bool is_sending() const { return sent_bytes < answer.size(); }
};

// More bytes of what the client sends; false: it sends no more.
bool receive(Connection& connection, std::size_t limit_bytes) {
    std::array<std::byte, 4096> room;
    auto const got = transport::receive_some(connection.socket, room);
    auto const wanted = connection.is_reading() ? limit_bytes - connection.request.size() : 0;
    connection.request.append(reinterpret_cast<char const*>(room.data()), std::min(got.bytes, wanted));
    return !got.closed;
}

} // namespace

struct HttpServer::State {
    State(std::string const& at, Pages the_pages, HttpLimits the_limits)
        : pages(std::move(the_pages)), limits(the_limits), listener(transport::listen_at(transport::parse_address(at))),
          address(listener.address.str()) {
        poller.add(listener.socket.get(), kListenerKey);
    }

    void run();
    std::uint64_t wait_ns() const;
    void accept();
    void accept_some();
    void drop_overdue();
    bool go_on(std::uint64_t key, Connection& connection);
    bool send(std::uint64_t key, Connection& connection);

    Pages pages;
    HttpLimits limits;
    transport::Listener listener;
    std::string address;
    transport::Poller poller;
    std::map<std::uint64_t, Connection> connections; // by age: the first is the oldest
    std::uint64_t last_key = kListenerKey;
    std::uint64_t rest_until_ns = 0; // 0: the listener does not rest
    std::atomic<bool> stop = false;
    std::thread thread;
};

void HttpServer::State::run() {
    ::pthread_setname_np(::pthread_self(), "monitor");
    while (!stop.load(std::memory_order_relaxed)) {
        for (auto const& ready : poller.wait(wait_ns())) {
            if (ready.key == kListenerKey) {
                accept();
            } else if (auto const found = connections.find(ready.key); found != connections.end()) {
                if (!go_on(found->first, found->second)) connections.erase(found);
            }
        }
        drop_overdue();
    }
}

std::uint64_t HttpServer::State::wait_ns() const {
    auto const now_ns = base::monotonic_ns();
    auto until_ns = now_ns + kIdleNs;
    if (!connections.empty()) until_ns = std::min(until_ns, connections.begin()->second.deadline_ns);
    if (rest_until_ns != 0) until_ns = std::min(until_ns, rest_until_ns);
    return until_ns - std::min(until_ns, now_ns);
}

void HttpServer::State::accept() try { accept_some(); } catch (base::SystemError const&) {
    // No descriptor is left: whoever waits goes on waiting, and we do not ask all the time.
    poller.change(listener.socket.get(), kListenerKey, false, false);
    rest_until_ns = base::monotonic_ns() + kRestNs;
}

void HttpServer::State::accept_some() {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
        auto accepted = transport::accept_from(listener.socket);
        if (!accepted) return;
        // The oldest makes room, not the newest: those who connect and say nothing shut nobody out.
        if (connections.size() >= limits.connections) connections.erase(connections.begin());
        auto& connection = connections[++last_key];
        connection.socket = std::move(accepted->socket);
        connection.deadline_ns = base::monotonic_ns() + limits.connection_ns;
        poller.add(connection.socket.get(), last_key);
    }
}

void HttpServer::State::drop_overdue() {
    auto const now_ns = base::monotonic_ns();
    while (!connections.empty() && connections.begin()->second.deadline_ns <= now_ns) {
        connections.erase(connections.begin());
    }
    if (rest_until_ns != 0 && rest_until_ns <= now_ns) {
        rest_until_ns = 0;
        poller.change(listener.socket.get(), kListenerKey, true, false);
    }
}

// False: it is over.
bool HttpServer::State::go_on(std::uint64_t key, Connection& connection) {
    if (!connection.is_reading() && connection.is_sending()) return send(key, connection);
    bool const is_open = receive(connection, limits.request_bytes);
    if (!connection.is_reading()) return is_open;
    auto const parsed = parse_request(connection.request, limits.request_bytes);
    if (parsed.status == 0) return is_open;
    connection.answer = http_answer(parsed, pages);
    return send(key, connection);
}

bool HttpServer::State::send(std::uint64_t key, Connection& connection) {
    auto const rest = std::as_bytes(std::span(connection.answer)).subspan(connection.sent_bytes);
    auto const sent = transport::send_some(connection.socket, rest);
    connection.sent_bytes += sent.bytes;
    if (!connection.is_sending()) ::shutdown(connection.socket.get(), SHUT_WR);
    poller.change(connection.socket.get(), key, !connection.is_sending(), connection.is_sending());
    return !sent.closed;
}

HttpServer::HttpServer(std::string const& address, Pages pages, HttpLimits limits)
    : state_(std::make_unique<State>(address, std::move(pages), limits)) {
    state_->thread = std::thread([this] { state_->run(); });
}

HttpServer::~HttpServer() {
    state_->stop = true;
    state_->poller.wake();
    state_->thread.join();
}

std::string const& HttpServer::address() const { return state_->address; }

std::string HttpServer::url() const { return "http://" + state_->address; }

} // namespace thalweg::monitor
