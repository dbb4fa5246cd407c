// Committed ranges that one handler does not know yet: they are about to be sent, or it is away, or it keeps them for
// another collector.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "thalweg/base/assert.h"
#include "thalweg/readout/client/client_range.h"

namespace thalweg::readout {

struct RangeToClear {
    OwnRange range;
    std::uint64_t give_up_ns = 0; // if it was refused before: a refusal after this time is final
};

// A clear that was refused because another collector still owned some of the range: one that died, of which the handler
// that gave the range knew earlier than this one.
struct RefusedClear {
    RangeToClear what;
    std::uint64_t next_try_ns = 0;
};

class PendingClears {
  public:
    // Collects ranges, so that one message clears several.
    void add(RangeToClear const& what) { ready_.push_back(what); }
    std::vector<RangeToClear> take_ready() { return std::exchange(ready_, {}); }
    bool has_ready() const { return !ready_.empty(); }

    // Keeps the range until the handler is there, or has begun the run.
    void hold(OwnRange const& range) { held_.push_back(range); }
    std::vector<OwnRange> take_held() { return std::exchange(held_, {}); }
    template <typename IsOver> void drop_held(IsOver&& is_over) {
        std::erase_if(held_, [&](OwnRange const& range) { return is_over(range.id); });
    }

    // Keeps a refused clear for another try. Returns false if it was tried for long enough. The lease of a dead
    // collector ends after one lease; twice as long is enough on a slow machine, too.
    bool try_again(RangeToClear what, std::uint64_t lease_ns, std::uint64_t now_ns) {
        if (what.give_up_ns == 0) what.give_up_ns = now_ns + 2 * lease_ns;
        if (now_ns >= what.give_up_ns) return false;
        THALWEG_ASSERT(what.range.id.count > 0, "a range has an event");
        refused_.push_back({what, now_ns + std::clamp(lease_ns / 8, kShortestTryNs, kLongestTryNs)});
        return true;
    }
    std::vector<RefusedClear> take_due(std::uint64_t now_ns) {
        auto const due = std::stable_partition(refused_.begin(), refused_.end(),
                                               [now_ns](RefusedClear const& it) { return now_ns < it.next_try_ns; });
        std::vector<RefusedClear> taken(due, refused_.end());
        refused_.erase(due, refused_.end());
        return taken;
    }

    bool empty() const { return ready_.empty() && held_.empty() && refused_.empty(); }
    bool tries_again() const { return !refused_.empty(); }

  private:
    static constexpr std::uint64_t kShortestTryNs = 10'000'000, kLongestTryNs = 500'000'000;

    std::vector<RangeToClear> ready_;
    std::vector<OwnRange> held_;
    std::vector<RefusedClear> refused_;
};

} // namespace thalweg::readout
