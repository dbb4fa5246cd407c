// How long a thread that has read everything sleeps. Each waking costs as much as the packets of several blocks, so
// the thread lets blocks come together: as many as one turn takes, if the buffer and the patience of the groups allow
// it. While nothing comes it sleeps longer and longer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace thalweg::readout {

struct PaceLimits {
    std::uint64_t poll_ns = 30'000;         // the shortest sleep
    std::uint64_t turn_blocks = 256;        // as many are read in one turn
    std::uint64_t buffer_blocks = 65'536;   // the card waits when so many are not read
    std::uint64_t block_bytes = 1024;       // of each
    std::uint64_t patience_ns = 50'000'000; // the shortest time after which a group closes an event
};

class ReadPace {
  public:
    explicit ReadPace(PaceLimits const& limits)
        : limits_(limits), wanted_blocks_(std::max<std::uint64_t>(
                               1, std::min(limits.turn_blocks, limits.buffer_blocks / kShareOfBuffer))),
          longest_ns_(longest(kLongestFlowNs)), longest_idle_ns_(longest(kLongestIdleNs)), idle_ns_(limits.poll_ns) {}

    // Returns how long to sleep after `blocks` were read, at the time `now_ns`, and no more are there.
    std::uint64_t after_blocks(std::uint64_t blocks, std::uint64_t now_ns) {
        idle_ns_ = limits_.poll_ns;
        auto const passed_ns = now_ns - std::exchange(before_ns_, now_ns);
        if (passed_ns == 0 || passed_ns == now_ns) return limits_.poll_ns;
        auto const block_ns = static_cast<double>(passed_ns) / static_cast<double>(blocks);
        block_ns_ = block_ns_ == 0 ? block_ns : block_ns_ + (block_ns - block_ns_) / kTurnsRemembered;
        auto const sleep_ns = block_ns_ * static_cast<double>(wanted_blocks_);
        return sleep_ns > static_cast<double>(longest_ns_)
                   ? longest_ns_
                   : std::max(limits_.poll_ns, static_cast<std::uint64_t>(sleep_ns));
    }
    // Returns how long to sleep if no block was there.
    std::uint64_t after_nothing() {
        auto const sleep_ns = idle_ns_;
        idle_ns_ = std::min(idle_ns_ + idle_ns_ / 8 + 1, longest_idle_ns_);
        return sleep_ns;
    }
    // Returns how long to sleep while an index is full.
    std::uint64_t while_full() {
        auto const sleep_ns = std::min(idle_ns_, std::max(kLongestFullNs, limits_.poll_ns));
        idle_ns_ = std::min(idle_ns_ + idle_ns_ / 8 + 1, longest_idle_ns_);
        return sleep_ns;
    }

  private:
    static constexpr std::uint64_t kShareOfBuffer = 8;
    static constexpr std::uint64_t kLongestFlowNs = 1'000'000, kLongestIdleNs = 10'000'000, kLongestFullNs = 500'000;
    static constexpr std::uint64_t kShareOfPatience = 4;
    static constexpr double kTurnsRemembered = 8;
    static constexpr double kFastestBytesPerNs = 1.5; // a card begins at once, and as fast as this

    // A card that begins to send, as fast as it can, fills a quarter of the buffer in this time.
    std::uint64_t longest(std::uint64_t most_ns) const {
        auto const quarter_ns =
            static_cast<double>(limits_.buffer_blocks * limits_.block_bytes) / 4 / kFastestBytesPerNs;
        return std::max(limits_.poll_ns, std::min({most_ns, limits_.patience_ns / kShareOfPatience,
                                                   static_cast<std::uint64_t>(quarter_ns)}));
    }

    PaceLimits limits_;
    std::uint64_t wanted_blocks_;
    std::uint64_t longest_ns_, longest_idle_ns_;
    std::uint64_t idle_ns_;
    std::uint64_t before_ns_ = 0;
    double block_ns_ = 0; // from one block to the next
};

} // namespace thalweg::readout
