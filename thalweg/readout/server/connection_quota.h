// Limits the connections of a server, and the memory of its answers, over all threads and by role, so that observers
// never take what collectors need.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "thalweg/base/assert.h"
#include "thalweg/readout/config.h"
#include "thalweg/readout/protocol.h"

namespace thalweg::readout {

class ConnectionQuota {
  public:
    explicit ConnectionQuota(ServerConfig const& config)
        : most_{config.max_connections, std::max(1u, config.max_connections / 2)}, most_bytes_{
                                                                                       config.queued_total_bytes,
                                                                                       config.queued_total_bytes / 4} {}

    // Counts one more client, which has said its role. Returns false if the limit of all clients, or of observers, is
    // reached.
    bool admit(ClientRole role) {
        auto const all = ++all_;
        auto const observers = observers_ += role == ClientRole::observer;
        if (all <= most_[0] && (role == ClientRole::collector || observers <= most_[1])) return true;
        leave(role);
        return false;
    }
    void leave(ClientRole role) {
        bool const is_observer = role == ClientRole::observer;
        auto const all = all_--;
        auto const observers = observers_.fetch_sub(is_observer);
        THALWEG_ASSERT(all > 0 && observers >= is_observer, "only admitted clients leave");
    }
    std::uint32_t most(ClientRole role) const { return most_[index(role)]; }

    // The functions below count the bytes of answers that are queued here or in the kernel.
    bool has_room(ClientRole role) const {
        return bytes_[index(role)].load(std::memory_order_relaxed) < most_bytes_[index(role)];
    }
    void holds(ClientRole role, std::uint64_t before, std::uint64_t now) {
        if (now != before) bytes_[index(role)].fetch_add(now - before, std::memory_order_relaxed);
    }

    // Counts memory that is made for answers to one client. All of it together has at most half of `queued_total`: the
    // rest is for answers over sockets, which clients take even while they still need all of their memory.
    bool lend(std::uint64_t bytes) {
        if (lent_bytes_.fetch_add(bytes) + bytes <= most_bytes_[0] / 2) return true;
        take_back(bytes);
        return false;
    }
    void take_back(std::uint64_t bytes) {
        auto const before = lent_bytes_.fetch_sub(bytes);
        THALWEG_ASSERT(before >= bytes, "only lent memory is taken back");
    }
    std::uint64_t lent_bytes() const { return lent_bytes_.load(std::memory_order_relaxed); }
    std::uint64_t bytes(ClientRole role) const { return bytes_[index(role)].load(std::memory_order_relaxed); }

  private:
    static std::size_t index(ClientRole role) { return role == ClientRole::observer ? 1 : 0; }

    std::uint32_t most_[2];
    std::uint64_t most_bytes_[2];
    std::atomic<std::uint32_t> all_ = 0, observers_ = 0;
    std::atomic<std::uint64_t> bytes_[2] = {0, 0};
    std::atomic<std::uint64_t> lent_bytes_ = 0;
};

} // namespace thalweg::readout
