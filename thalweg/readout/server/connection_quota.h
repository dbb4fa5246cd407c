// Who is connected to a server, and what answers on their way take: of all its threads together, and by role, so that
// observers never have what collectors need.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "thalweg/readout/config.h"
#include "thalweg/readout/protocol.h"

namespace thalweg::readout {

class ConnectionQuota {
  public:
    explicit ConnectionQuota(ServerConfig const& config)
        : most_{config.max_connections, std::max(1u, config.max_connections / 2)}, most_bytes_{
                                                                                       config.queued_total_bytes,
                                                                                       config.queued_total_bytes / 4} {}

    // One more that has said who it is. False: there are as many as there may be, or as many observers.
    bool admit(Role role) {
        auto const all = ++all_;
        auto const observers = observers_ += role == Role::observer;
        if (all <= most_[0] && (role == Role::collector || observers <= most_[1])) return true;
        leave(role);
        return false;
    }
    void leave(Role role) {
        --all_;
        observers_ -= role == Role::observer;
    }
    std::uint32_t most(Role role) const { return most_[index(role)]; }

    // Bytes of answers that are queued here or in the kernel.
    bool has_room(Role role) const {
        return bytes_[index(role)].load(std::memory_order_relaxed) < most_bytes_[index(role)];
    }
    void holds(Role role, std::uint64_t before, std::uint64_t now) {
        if (now != before) bytes_[index(role)].fetch_add(now - before, std::memory_order_relaxed);
    }
    std::uint64_t bytes(Role role) const { return bytes_[index(role)].load(std::memory_order_relaxed); }

  private:
    static std::size_t index(Role role) { return role == Role::observer ? 1 : 0; }

    std::uint32_t most_[2];
    std::uint64_t most_bytes_[2];
    std::atomic<std::uint32_t> all_ = 0, observers_ = 0;
    std::atomic<std::uint64_t> bytes_[2] = {0, 0};
};

} // namespace thalweg::readout
