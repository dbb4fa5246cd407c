// The state of an event. docs/readout.md says for users what the states mean. This file is the only place where states
// are combined: the groups of a handler give the state that the handler answers with, and the handlers give the state
// of the event.
#pragma once

#include <cstdint>

namespace thalweg::readout {

enum class EventState : std::uint8_t {
    complete,   // every group has all its enabled streams
    incomplete, // a stream of a group, or a whole group, is missing
    absent,     // closed, and no packet of it arrived
    cleared,    // its owner has it in durable storage
    evicted,    // it made room for newer events, or no client asked for it in time
    not_yet,    // not closed at the deadline
};

// Returns the state of an event whose fragments can be read, from what the groups have.
constexpr EventState state_of_readable(std::uint32_t fragments, bool all_complete) {
    if (fragments == 0) return EventState::absent;
    return all_complete ? EventState::complete : EventState::incomplete;
}

// Combines the states of one event over several handlers.
class JoinedState {
  public:
    // `lost`: the handler cannot, or refuses to, say more. `is_missing`: it sent nothing usable.
    void add(EventState state, bool lost, bool is_missing) {
        lost_ |= lost;
        evicted_ |= state == EventState::evicted;
        cleared_ |= state == EventState::cleared;
        incomplete_ |= is_missing || state == EventState::incomplete;
    }
    // Notes that a part of the event was damaged.
    void lose() { lost_ = incomplete_ = true; }

    // Returns the state of an event that is handed on. `evicted` weighs more than `incomplete`, because the event was
    // once complete.
    EventState of_event() const {
        if (evicted_) return EventState::evicted;
        return incomplete_ ? EventState::incomplete : EventState::complete;
    }
    // The counter in which an event without any fragment is counted: the first of these that applies to any handler.
    enum class Nothing : std::uint8_t { lost, evicted, cleared, absent };
    Nothing of_nothing() const {
        if (lost_) return Nothing::lost;
        if (evicted_) return Nothing::evicted;
        return cleared_ ? Nothing::cleared : Nothing::absent;
    }

  private:
    bool lost_ = false, evicted_ = false, cleared_ = false, incomplete_ = false;
};

} // namespace thalweg::readout
