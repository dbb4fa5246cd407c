#pragma once

#include <algorithm>

#include "thalweg/base/clock.h"

namespace thalweg::dataset {

// For waits on another process: first short sleeps, then longer ones; never a busy core.
class Backoff {
  public:
    void pause() {
        base::sleep_ns(sleep_ns_);
        sleep_ns_ = std::min(sleep_ns_ * 2, kLongestNs);
    }
    void reset() { sleep_ns_ = kShortestNs; }

  private:
    static constexpr std::uint64_t kShortestNs = 20'000, kLongestNs = 500'000;
    std::uint64_t sleep_ns_ = kShortestNs;
};

} // namespace thalweg::dataset
