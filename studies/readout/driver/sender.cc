#include "studies/readout/driver/sender.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <sys/socket.h>

#include "studies/readout/driver/loopback.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kWarmUpNs = 300'000'000;
constexpr std::uint64_t kConnectNs = 20'000'000'000; // for thousands of connections on a busy machine
constexpr std::uint64_t kListenerKey = ~std::uint64_t{0} - 1;

} // namespace

Way parse_way(std::string const& name) {
    if (name == "copy") return Way::copy;
    if (name == "writev") return Way::writev;
    if (name == "ready") return Way::ready;
    base::fail_usage({"--way " + name + " is none of copy, writev, ready"});
}

Sender::Sender(Way way, Pieces& pieces)
    : way_(way), pieces_(pieces), listener_(transport::listen_at(transport::parse_address("127.0.0.1:0"))),
      ready_(pieces.response_bytes(), std::byte{0x5A}) {
    poller_.add(listener_.socket.get(), kListenerKey);
}

Sender::Sent Sender::measure(std::size_t connections, std::uint64_t duration_ns) {
    auto const deadline_ns = base::monotonic_ns() + kConnectNs;
    while (connections_.size() < connections) {
        if (base::monotonic_ns() > deadline_ns) base::fail_system({"the receivers do not connect"});
        run_until(base::monotonic_ns() + 10'000'000);
    }
    run_until(base::monotonic_ns() + kWarmUpNs);

    auto const begin_ns = base::monotonic_ns();
    auto const begin_cpu_ns = base::thread_cpu_ns();
    auto const begin_responses = responses_, begin_partial = partial_writes_;
    run_until(begin_ns + duration_ns);
    if (responses_ == begin_responses) base::fail_system({"no response was sent"});
    return {static_cast<double>(base::thread_cpu_ns() - begin_cpu_ns),
            static_cast<double>(base::monotonic_ns() - begin_ns) * 1e-9,
            static_cast<double>(responses_ - begin_responses), static_cast<double>(partial_writes_ - begin_partial)};
}

void Sender::run_until(std::uint64_t monotonic_ns) {
    while (base::monotonic_ns() < monotonic_ns) {
        for (auto const& ready : poller_.wait(1'000'000)) {
            if (ready.key == kListenerKey) {
                accept_all();
                continue;
            }
            if (ready.readable) take_requests(*connections_[ready.key]);
            go_on(ready.key);
        }
    }
}

void Sender::accept_all() {
    while (auto accepted = transport::accept_from(listener_.socket, {.congestion_control = kCongestionControl})) {
        poller_.add(accepted->socket.get(), connections_.size());
        connections_.push_back(std::make_unique<Connection>());
        connections_.back()->socket = std::move(accepted->socket);
    }
}

void Sender::take_requests(Connection& connection) {
    std::array<std::byte, 16 * kRequestBytes> room;
    auto const moved = transport::receive_some(connection.socket, room);
    if (moved.closed) base::fail_system({"a receiver has gone"}, moved.error);
    connection.requests += moved.bytes / kRequestBytes; // so short requests are never split
}

void Sender::prepare(Connection& connection) {
    connection.first_unsent = 0;
    if (way_ == Way::ready) {
        connection.unsent = {{ready_.data(), ready_.size()}};
        return;
    }
    auto const& pieces = pieces_.next();
    if (way_ == Way::writev) {
        connection.unsent = pieces;
        return;
    }
    if (!free_buffers_.empty()) {
        connection.buffer = std::move(free_buffers_.back());
        free_buffers_.pop_back();
    }
    connection.buffer.resize(pieces_.response_bytes());
    auto* end = connection.buffer.data();
    for (auto const& piece : pieces) {
        std::memcpy(end, piece.iov_base, piece.iov_len);
        end += piece.iov_len;
    }
    connection.unsent = {{connection.buffer.data(), connection.buffer.size()}};
}

bool Sender::send(Connection& connection) {
    while (connection.first_unsent < connection.unsent.size()) {
        auto* first = connection.unsent.data() + connection.first_unsent;
        msghdr message{};
        message.msg_iov = first;
        message.msg_iovlen = std::min<std::size_t>(IOV_MAX, connection.unsent.size() - connection.first_unsent);
        auto sent = way_ == Way::writev
                        ? ::sendmsg(connection.socket.get(), &message, MSG_NOSIGNAL)
                        : ::send(connection.socket.get(), first->iov_base, first->iov_len, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) base::fail_system({"cannot send"}, errno);
        if (sent < 0) return false;
        while (sent > 0) {
            auto& piece = connection.unsent[connection.first_unsent];
            auto const step = std::min<std::size_t>(piece.iov_len, static_cast<std::size_t>(sent));
            piece = {static_cast<std::byte*>(piece.iov_base) + step, piece.iov_len - step};
            sent -= static_cast<ssize_t>(step);
            if (piece.iov_len == 0) ++connection.first_unsent;
        }
    }
    return true;
}

void Sender::go_on(std::size_t key) {
    auto& connection = *connections_[key];
    while (connection.waits || connection.requests != 0) {
        if (!connection.waits) prepare(connection);
        if (!send(connection)) {
            ++partial_writes_;
            if (!connection.waits) poller_.change(connection.socket.get(), key, true, true);
            connection.waits = true;
            return;
        }
        if (connection.waits) poller_.change(connection.socket.get(), key, true, false);
        connection.waits = false;
        --connection.requests;
        ++responses_;
        if (!connection.buffer.empty()) free_buffers_.push_back(std::move(connection.buffer));
        connection.buffer.clear();
    }
}

} // namespace thalweg::study
