// Ranges that are safe, of which one handler is still to be told: it is away, or keeps them for somebody else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "thalweg/readout/client/client_range.h"

namespace thalweg::readout {

// Somebody else still owned (some of) it: a collector that died, of which the handler that gave the range to us knew so
// before this one.
struct RefusedClear {
    OwnRange range;
    std::uint64_t next_try_ns = 0;
    std::uint64_t give_up_ns = 0;
};

class PendingClears {
  public:
    // For when it is there, or has begun the run.
    void hold(OwnRange const& range) { held_.push_back(range); }
    std::vector<OwnRange> take_held() { return std::exchange(held_, {}); }
    template <typename IsOver> void drop_held(IsOver&& is_over) {
        std::erase_if(held_, [&](OwnRange const& range) { return is_over(range.id); });
    }

    // It was refused. `give_up_ns`: of the request, 0 where it was the first. False: it was tried for long enough.
    // No lease of who died lives longer than one lease more: twice as long is enough on a slow machine, too.
    bool try_again(OwnRange const& range, std::uint64_t give_up_ns, std::uint64_t lease_ns, std::uint64_t now_ns) {
        if (give_up_ns == 0) give_up_ns = now_ns + 2 * lease_ns;
        if (now_ns >= give_up_ns) return false;
        refused_.push_back({range, now_ns + std::clamp(lease_ns / 8, kShortestTryNs, kLongestTryNs), give_up_ns});
        return true;
    }
    std::vector<RefusedClear> take_due(std::uint64_t now_ns) {
        auto const due = std::stable_partition(refused_.begin(), refused_.end(),
                                               [now_ns](RefusedClear const& it) { return now_ns < it.next_try_ns; });
        std::vector<RefusedClear> taken(due, refused_.end());
        refused_.erase(due, refused_.end());
        return taken;
    }

    bool empty() const { return held_.empty() && refused_.empty(); }
    bool tries_again() const { return !refused_.empty(); }

  private:
    static constexpr std::uint64_t kShortestTryNs = 10'000'000, kLongestTryNs = 500'000'000;

    std::vector<OwnRange> held_;
    std::vector<RefusedClear> refused_;
};

} // namespace thalweg::readout
