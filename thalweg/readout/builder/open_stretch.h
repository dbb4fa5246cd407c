// A stretch under construction: events without a jump, so the position of an event is a sum. It owns the positions
// [low, limit).
#pragma once

#include <algorithm>
#include <cstdint>

#include "thalweg/base/assert.h"

namespace thalweg::readout {

// The events that are placed at once. Position = event + shift.
struct Window {
    std::uint64_t newest;
    std::uint64_t shift;
    std::uint64_t low;
    std::uint64_t room;  // number of events from `low` on
    std::uint64_t limit; // the end of the stretch or of the ring

    bool holds(std::uint64_t event) const { return event - low < room; }
};

class OpenStretch {
  public:
    static constexpr std::uint64_t kNone = ~0ull;

    OpenStretch() = default;
    // Begins around an event, which lies at `position`.
    OpenStretch(std::uint64_t event, std::uint64_t position, std::uint64_t low, std::uint64_t limit = kNone)
        : shift_(position - event), newest_(event), low_(low), limit_(limit) {
        check();
    }

    std::uint64_t event_of(std::uint64_t position) const { return position - shift_; }
    std::uint64_t newest_event() const { return newest_; }
    std::uint64_t newest_position() const { return newest_ + shift_; }
    std::uint64_t low() const { return low_; }
    std::uint64_t limit() const { return limit_; }
    // Position of the first event of which a packet came; kNone: no packet came.
    std::uint64_t lowest() const { return lowest_; }
    bool is_empty() const { return lowest_ == kNone; }
    // Returns whether the readers of the ring know it. From then on it begins with its lowest event.
    bool is_announced() const { return announced_; }

    // Returns the events that have slots now: from the watermark on, and before `room_end`.
    Window window(std::uint64_t watermark, std::uint64_t room_end, std::uint64_t window_events) const {
        auto const low = std::max(watermark, low_);
        auto const limit = std::max(low, std::min({newest_position() + window_events, limit_, room_end}));
        return {.newest = newest_,
                .shift = shift_,
                .low = low - shift_,
                .room = limit - low,
                .limit = std::min(limit_, room_end) - shift_};
    }
    void begin_event(std::uint64_t position) { lowest_ = std::min(lowest_, position); }
    void advance_to(std::uint64_t event) {
        THALWEG_ASSERT(event >= newest_, "the newest event of a stretch only advances");
        newest_ = event;
        check();
    }
    // Sets, or removes, the limit: another stretch may begin here.
    void end_before(std::uint64_t position) {
        limit_ = position;
        check();
    }
    void go_on() { limit_ = kNone; }
    void announce() {
        THALWEG_ASSERT(!announced_ && !is_empty(), "a stretch is announced once, when it has an event");
        announced_ = true;
    }

  private:
    void check() const {
        THALWEG_ASSERT(low_ <= newest_position() && newest_position() < limit_, "a stretch keeps to its positions");
        THALWEG_ASSERT(is_empty() || (low_ <= lowest_ && lowest_ <= newest_position()),
                       "the events of a stretch lie between its lowest and its newest one");
    }

    std::uint64_t shift_ = 0;  // from an event to its position
    std::uint64_t newest_ = 0; // the event by which the numbers of others are extended
    std::uint64_t low_ = 0;
    std::uint64_t limit_ = kNone;
    std::uint64_t lowest_ = kNone;
    bool announced_ = false;
};

} // namespace thalweg::readout
