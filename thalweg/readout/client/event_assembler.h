// Puts the events of a range together from what all handlers have sent, and hands them on. Every event of a range is
// handed on, or counted as one of absent, cleared, evicted, lost, duplicates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "thalweg/readout/client/client.h"
#include "thalweg/readout/client/client_range.h"
#include "thalweg/readout/client/history.h"

namespace thalweg::readout {

class EventAssembler {
  public:
    EventAssembler(std::size_t handlers, ClientCounters& counters) : handlers_(handlers), counters_(counters) {}

    // Of a range that is whole, in order; where the sink throws, the next call goes on with that event. False: nothing
    // is left of any of its events.
    bool hand_on(Range& range, EventSink const& sink);

  private:
    bool put_together(Range const& range, std::uint64_t index);
    void read_fragments(Piece const& piece);

    std::size_t handlers_;
    ClientCounters& counters_;
    History handed_on_; // of one run
    std::uint32_t run_ = 0;
    Event event_; // the one that is put together
    std::vector<FragmentView> fragments_;
    std::uint64_t event_bytes_ = 0; // of these
};

} // namespace thalweg::readout
