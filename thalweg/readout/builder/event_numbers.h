// Rule 1 of docs/readout.md: the 32 bits of a packet become the 64 bits of an event number. A time slice has a number,
// too: the count of slices before it.
#pragma once

#include <cstdint>

#include "thalweg/base/assert.h"

namespace thalweg::readout {

class EventNumbers {
  public:
    explicit EventNumbers(std::uint32_t ticks_of_slice) : ticks_(ticks_of_slice) {
        THALWEG_ASSERT(ticks_ > 0, "a slice has a length");
    }

    // Returns the event that differs from `reference` by less than half the range of 32 bits. Inner loops, which know
    // the ticks, call it directly.
    static std::uint64_t extend(std::uint32_t raw, std::uint64_t reference, std::uint32_t ticks_of_slice) {
        auto const ticks = reference * ticks_of_slice;
        auto const ahead = static_cast<std::int32_t>(raw - static_cast<std::uint32_t>(ticks));
        auto const extended = ticks + static_cast<std::uint64_t>(ahead);
        return ticks_of_slice == 1 ? extended : extended / ticks_of_slice;
    }
    std::uint64_t event_of(std::uint32_t raw, std::uint64_t reference) const { return extend(raw, reference, ticks_); }
    // Returns the event of the very first packet. `seen` is the newest event that another group or handler has seen; 0:
    // none.
    std::uint64_t first_event(std::uint32_t raw, std::uint64_t seen) const {
        if (epoch_ticks_ / ticks_ > seen) return (epoch_ticks_ | raw) / ticks_;
        return seen != 0 ? event_of(raw, seen) : (kEpoch | raw) / ticks_;
    }

    std::uint32_t ticks_of_slice() const { return ticks_; }
    std::uint64_t events_of_an_epoch() const { return kEpoch / ticks_; }
    // Returns, in ticks, the epoch behind that of an event.
    std::uint64_t epoch_behind(std::uint64_t event) const { return (event * ticks_ / kEpoch + 1) * kEpoch; }
    // The card's epoch begins at `first_ticks`.
    void begin_epoch(std::uint64_t first_ticks) {
        THALWEG_ASSERT(first_ticks % kEpoch == 0, "an epoch begins where 32 bits are 0");
        epoch_ticks_ = first_ticks;
    }

  private:
    static constexpr std::uint64_t kEpoch = std::uint64_t{1} << 32;

    std::uint32_t ticks_;
    std::uint64_t epoch_ticks_ = 0; // 0: unknown
};

} // namespace thalweg::readout
