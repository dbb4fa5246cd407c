// Renews the leases of a client while its own loop stands still, because it waits for a callback or a disk. A handler
// that has heard nothing for half a lease gets a hello on another connection: messages on the client's own connection
// may stay unread behind answers that the client does not take.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/thread.h"
#include "thalweg/transport/moving_address.h"
#include "thalweg/transport/poller.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::readout {

class LeaseRenewer {
  public:
    // `hello` is the body of the client's hello. If the loop has not turned for `patience_ns`, it counts as hung: the
    // renewer sends nothing more, and the leases expire.
    LeaseRenewer(std::vector<transport::MovingAddress> const& handlers, std::vector<std::byte> const& hello,
                 std::uint64_t patience_ns);

    // Called by the client's thread.
    void start(); // starts the thread if it does not run yet
    void stop() { thread_ = {}; }
    // From now on a handler hears this hello.
    void says(std::size_t handler, std::vector<std::byte> const& hello);
    void turned(std::uint64_t now_ns, bool holds_ranges) { turned_ns_ = now_ns, holds_ranges_ = holds_ranges; }
    void said(std::size_t handler, std::uint64_t lease_ns, std::uint64_t when_ns) {
        handlers_[handler].lease_ns = lease_ns, handlers_[handler].said_ns = when_ns;
    }

  private:
    struct RenewedHandler {
        explicit RenewedHandler(transport::MovingAddress at) : address(std::move(at)) {}
        transport::MovingAddress address;
        base::FileDescriptor socket = {};  // while it connects and says hello
        std::vector<std::byte> hello = {}; // the whole message
        bool is_greeted = false;
        std::atomic<std::uint64_t> lease_ns = 0; // 0: not known yet
        std::atomic<std::uint64_t> said_ns = 0;
    };

    void run(std::stop_token const& stop);
    std::uint64_t shortest_lease_ns() const;
    void renew(std::stop_token const& stop);
    void connect(std::size_t handler);
    bool greet(RenewedHandler& handler);
    void serve(RenewedHandler& handler, transport::Ready const& ready);
    void part(RenewedHandler& handler);

    std::uint64_t patience_ns_;
    base::Mutex hello_mutex_; // of the hellos of all handlers
    std::deque<RenewedHandler> handlers_;
    std::atomic<std::uint64_t> turned_ns_ = 0;
    std::atomic<bool> holds_ranges_ = false;
    transport::Poller poller_; // used by the thread
    std::size_t under_way_ = 0;
    std::jthread thread_; // last: it uses all other members
};

} // namespace thalweg::readout
