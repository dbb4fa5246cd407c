#include "thalweg/readout/client/lease_renewer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <pthread.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/stop.h"
#include "thalweg/readout/protocol.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kLongestSleepNs = 100'000'000;

} // namespace

LeaseRenewer::LeaseRenewer(std::vector<transport::MovingAddress> const& handlers, std::vector<std::byte> const& hello,
                           std::uint64_t patience_ns)
    : patience_ns_(patience_ns) {
    for (auto const& address : handlers) handlers_.emplace_back(address);
    for (std::size_t i = 0; i < handlers_.size(); ++i) says(i, hello);
}

void LeaseRenewer::says(std::size_t handler, std::vector<std::byte> const& hello) {
    MessageHead const head{.type = MessageType::hello, .length_bytes = static_cast<std::uint32_t>(hello.size())};
    auto const bytes = std::as_bytes(std::span(&head, 1));
    base::Lock const lock(hello_mutex_);
    auto& message = handlers_[handler].hello;
    message.assign(bytes.begin(), bytes.end());
    message.insert(message.end(), hello.begin(), hello.end());
}

bool LeaseRenewer::greet(RenewedHandler& handler) {
    base::Lock const lock(hello_mutex_);
    return transport::send_some(handler.socket, handler.hello).bytes == handler.hello.size();
}

void LeaseRenewer::start() {
    if (!thread_.joinable()) thread_ = std::jthread([this](std::stop_token const& stop) { run(stop); });
}

void LeaseRenewer::run(std::stop_token const& stop) {
    ::pthread_setname_np(::pthread_self(), "keep-leases");
    for (;;) {
        base::sleep_ns(stop, std::min(kLongestSleepNs, shortest_lease_ns() / 6));
        if (stop.stop_requested()) return;
        renew(stop);
        for (auto& handler : handlers_) part(handler);
    }
}

std::uint64_t LeaseRenewer::shortest_lease_ns() const {
    auto shortest = 6 * kLongestSleepNs;
    for (auto const& handler : handlers_)
        if (auto const lease_ns = handler.lease_ns.load(); lease_ns > 0) shortest = std::min(shortest, lease_ns);
    return shortest;
}

void LeaseRenewer::renew(std::stop_token const& stop) {
    auto now = base::monotonic_ns();
    if (!holds_ranges_ || now > turned_ns_ + patience_ns_) return;
    auto const end_ns = now + shortest_lease_ns() / 6; // a handler that does not answer must not delay the others
    for (std::size_t i = 0; i < handlers_.size(); ++i) {
        auto const lease_ns = handlers_[i].lease_ns.load();
        if (lease_ns > 0 && now > handlers_[i].said_ns + lease_ns / 2) connect(i);
    }
    for (; under_way_ > 0 && now < end_ns && !stop.stop_requested(); now = base::monotonic_ns())
        for (auto const& ready : poller_.wait(std::min<std::uint64_t>(end_ns - now, 20'000'000)))
            serve(handlers_[ready.key], ready);
}

void LeaseRenewer::connect(std::size_t index) {
    auto& handler = handlers_[index];
    try {
        auto socket = transport::begin_connect(handler.address.now());
        poller_.add(socket.get(), index, false, true);
        handler.socket = std::move(socket);
        handler.is_greeted = false;
        ++under_way_;
    } catch (base::SystemError const&) { // it is tried again later
    }
}

void LeaseRenewer::serve(RenewedHandler& handler, transport::Ready const& ready) {
    if (!handler.is_greeted) {
        auto const error = transport::connect_error(handler.socket);
        if (error == EINPROGRESS) return;
        if (error != 0 || !greet(handler)) return part(handler);
        handler.is_greeted = true;
        return poller_.change(handler.socket.get(), ready.key, true, false);
    }
    std::array<std::byte, sizeof(MessageHead) + sizeof(Welcome)> room;
    auto const moved = transport::receive_some(handler.socket, room);
    if (moved.bytes == 0 && !moved.closed) return;
    MessageHead head;
    std::memcpy(&head, room.data(), sizeof head);
    if (moved.bytes >= sizeof head && head.type == MessageType::welcome) handler.said_ns = base::monotonic_ns();
    part(handler);
}

void LeaseRenewer::part(RenewedHandler& handler) {
    if (!handler.socket) return;
    poller_.remove(handler.socket.get());
    handler.socket.reset();
    THALWEG_ASSERT(under_way_ > 0, "every socket of the renewer is counted");
    --under_way_;
}

} // namespace thalweg::readout
