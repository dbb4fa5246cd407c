#include "thalweg/monitor/http_server.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/transport/poller.h"
#include "thalweg/transport/tcp.h"
#include "thalweg/transport/unix_socket.h"

namespace thalweg::monitor {
namespace {

enum PollKey : std::uint64_t { tcp, local, exchanges };
constexpr std::uint64_t kRestNs = 100'000'000; // after the machine had no descriptor for a new connection
constexpr int kAcceptedAtOnce = 8;             // then existing connections are served

constexpr std::string_view kNotAllowed =
    "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    "your network is not in the list 'allow' of [server]\n";

} // namespace

struct HttpServer::State {
    State(HttpOptions const& options, HttpPages pages);

    void run();
    void accept();
    void accept_tcp();
    void accept_local();
    void listen(bool wanted);

    transport::Networks allowed;
    std::optional<transport::Listener> listener;
    std::optional<transport::UnixListener> local_listener;
    std::string address;
    Exchanges exchanges;
    transport::Poller poller;
    std::uint64_t rest_until_ns = 0; // 0: it listens
    std::atomic<bool> stop = false;
    std::thread thread;
};

HttpServer::State::State(HttpOptions const& options, HttpPages pages)
    : allowed(options.allow),
      exchanges(std::move(pages), {HostNames(options.host_names, options.address), options.token}, options.limits,
                [this] { poller.wake(); }) {
    if (options.address.empty() && options.socket_path.empty())
        base::fail_usage({"HTTP has neither an address nor the path of a socket"});
    if (!options.address.empty()) {
        listener = transport::listen_at(transport::parse_address(options.address));
        address = listener->address.str();
    }
    if (!options.socket_path.empty()) local_listener.emplace(options.socket_path);
    if (listener) poller.add(listener->socket.get(), PollKey::tcp);
    if (local_listener) poller.add(local_listener->socket().get(), PollKey::local);
    poller.add(exchanges.epoll(), PollKey::exchanges);
}

void HttpServer::State::run() {
    while (!stop) {
        auto wait_ns = exchanges.wait_ns();
        if (rest_until_ns != 0) {
            auto const now_ns = base::monotonic_ns();
            if (rest_until_ns <= now_ns) listen(true);
            wait_ns = std::min(wait_ns, rest_until_ns - std::min(rest_until_ns, now_ns));
        }
        auto const ready = poller.wait(wait_ns);
        if (std::ranges::any_of(ready,
                                [](auto const& it) { return it.key == PollKey::tcp || it.key == PollKey::local; }))
            accept();
        exchanges.go_on();
    }
}

void HttpServer::State::accept() try {
    if (listener) accept_tcp();
    if (local_listener) accept_local();
} catch (base::SystemError const&) {
    // No descriptor is left: waiting clients keep waiting, and the thread does not try all the time.
    listen(false);
}

void HttpServer::State::accept_tcp() {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
        auto accepted = transport::accept_from(listener->socket);
        if (!accepted) return;
        if (allowed.contain(accepted->peer))
            exchanges.add(accepted->socket, false);
        else // sent if the kernel accepts it at once: a refused client costs nothing
            transport::send_some(accepted->socket, std::as_bytes(std::span(kNotAllowed)));
    }
}

void HttpServer::State::accept_local() {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
        auto accepted = transport::accept_from(local_listener->socket());
        if (!accepted) return;
        exchanges.add(accepted->socket, true);
    }
}

void HttpServer::State::listen(bool wanted) {
    THALWEG_ASSERT(!wanted || rest_until_ns != 0, "listening begins again after a rest");
    rest_until_ns = wanted ? 0 : base::monotonic_ns() + kRestNs;
    if (listener) poller.change(listener->socket.get(), PollKey::tcp, wanted, false);
    if (local_listener) poller.change(local_listener->socket().get(), PollKey::local, wanted, false);
}

HttpServer::HttpServer(HttpOptions const& options, HttpPages pages)
    : state_(std::make_unique<State>(options, std::move(pages))) {
    state_->thread = std::thread([this] { state_->run(); });
}

HttpServer::~HttpServer() { stop(); }

void HttpServer::stop() {
    if (!state_->thread.joinable()) return;
    state_->stop = true;
    state_->poller.wake();
    state_->thread.join();
    state_->exchanges.end();
}

std::string const& HttpServer::address() const { return state_->address; }

std::string HttpServer::url() const { return "http://" + state_->address; }

} // namespace thalweg::monitor
