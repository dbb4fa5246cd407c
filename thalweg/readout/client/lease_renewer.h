// Tells handlers that a client lives while its own loop stands still: it waits for a callback, or for a disk. Whoever
// has heard nothing for half a lease is greeted on another connection, as what is said on the client's own may stay
// unread there, behind answers that nobody takes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/transport/poller.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::readout {

class LeaseRenewer {
  public:
    // `hello`: the body of the client's. A loop that has not turned for `patience_ns` is taken for hung: nothing is
    // said for it any more, and its leases expire.
    LeaseRenewer(std::vector<transport::Address> const& handlers, std::vector<std::byte> const& hello,
                 std::uint64_t patience_ns);

    // Of the client's thread.
    void start(); // if it does not run yet
    void stop() { thread_ = {}; }
    void turned(std::uint64_t now_ns, bool holds_ranges) { turned_ns_ = now_ns, holds_ranges_ = holds_ranges; }
    void said(std::size_t handler, std::uint64_t lease_ns, std::uint64_t when_ns) {
        handlers_[handler].lease_ns = lease_ns, handlers_[handler].said_ns = when_ns;
    }

  private:
    struct Handler {
        explicit Handler(transport::Address const& at) : address(at) {}
        transport::Address address;
        base::FileDescriptor socket = {}; // while it is greeted
        bool is_greeted = false;
        std::atomic<std::uint64_t> lease_ns = 0; // 0: not known yet
        std::atomic<std::uint64_t> said_ns = 0;
    };

    void run(std::stop_token const& stop);
    std::uint64_t shortest_lease_ns() const;
    void renew(std::stop_token const& stop);
    void connect(std::size_t handler);
    void serve(Handler& handler, transport::Ready const& ready);
    void part(Handler& handler);

    std::vector<std::byte> hello_; // the whole message
    std::uint64_t patience_ns_;
    std::deque<Handler> handlers_;
    std::atomic<std::uint64_t> turned_ns_ = 0;
    std::atomic<bool> holds_ranges_ = false;
    transport::Poller poller_; // of the thread
    std::size_t under_way_ = 0;
    std::jthread thread_; // last: it uses all others
};

} // namespace thalweg::readout
