// What is known of an event. For users docs/readout.md says what the states mean; for programs this is the one place
// that says so, and what several make together: groups of a handler make the state that it answers with, and handlers
// that of the event.
#pragma once

#include <cstdint>

namespace thalweg::readout {

enum class EventState : std::uint8_t {
    complete,   // every group has all its enabled streams
    incomplete, // something is missing: of some group, or in some group
    absent,     // closed, and no packet of it ever came
    cleared,    // its owner has it, durably
    evicted,    // it had to make room, or nobody asked for it in time
    not_yet,    // not closed at the deadline
};

// Of an event of which there is something to read, by what its groups have.
constexpr EventState state_of_readable(std::uint32_t fragments, bool all_complete) {
    if (fragments == 0) return EventState::absent;
    return all_complete ? EventState::complete : EventState::incomplete;
}

// Of an event over several handlers.
class JoinedState {
  public:
    // `lost`: the handler cannot, or will not, say any more. `is_missing`: it sent nothing that can be used.
    void add(EventState state, bool lost, bool is_missing) {
        lost_ |= lost;
        evicted_ |= state == EventState::evicted;
        cleared_ |= state == EventState::cleared;
        incomplete_ |= is_missing || state == EventState::incomplete;
    }
    // Some of it was not what it should be.
    void lose() { lost_ = incomplete_ = true; }

    // What is said of an event that is handed on: evicted weighs more than incomplete, as somebody once had it whole.
    EventState of_event() const {
        if (evicted_) return EventState::evicted;
        return incomplete_ ? EventState::incomplete : EventState::complete;
    }
    // As what an event of which there is nothing is counted: the first of these that is true of any handler.
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
