#pragma once

#include <algorithm>
#include <cstdint>

#include "thalweg/base/clock.h"

namespace thalweg::dataset {

// Between two looks at a folder at which all nodes of a run look: short ones at first. However many nodes there are,
// the server of the folder is not asked more than some thousand times a second.
class FolderPause {
  public:
    explicit FolderPause(std::uint32_t nodes = 1) { is_of(nodes); }

    void is_of(std::uint32_t nodes) {
        longest_ns_ = std::clamp(nodes * kOfEachNodeNs, kLeastLongestNs, kMostLongestNs);
    }
    void pause() {
        base::sleep_ns(sleep_ns_);
        sleep_ns_ = std::min(sleep_ns_ * 2, longest_ns_);
    }

  private:
    static constexpr std::uint64_t kOfEachNodeNs = 500'000, kLeastLongestNs = 5'000'000, kMostLongestNs = 500'000'000;
    std::uint64_t longest_ns_ = kLeastLongestNs;
    std::uint64_t sleep_ns_ = kOfEachNodeNs;
};

} // namespace thalweg::dataset
