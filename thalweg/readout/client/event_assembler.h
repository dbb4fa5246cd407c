// Assembles the events of a range from the parts of all handlers, and hands them on. Every event of a range is handed
// on, or counted in one of absent, cleared, evicted, lost, duplicates.
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

    // Hands on the events of a whole range, in order. If the sink throws, the next call goes on with that event.
    // Returns false if no event of the range had any fragment.
    bool hand_on(ClientRange& range, EventSink const& sink);

  private:
    bool put_together(ClientRange const& range, std::uint64_t index);
    void read_fragments(EventPart const& part);

    std::size_t handlers_;
    ClientCounters& counters_;
    History handed_on_; // the events of one run
    std::uint32_t run_ = 0;
    Event event_; // the event that is assembled
    std::vector<FragmentView> fragments_;
    std::uint64_t event_bytes_ = 0; // size of these fragments
};

} // namespace thalweg::readout
