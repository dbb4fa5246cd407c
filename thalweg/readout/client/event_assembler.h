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
    EventAssembler(std::size_t handlers, ClientCounters& counters)
        : handlers_(handlers), counters_(counters), missing_parts_(handlers), lacking_(handlers) {}

    // Hands on the first `count` events of a range, those of which all handlers have answered, in order. If the sink
    // throws, the next call goes on with that event. Returns false if none that was left had any fragment.
    bool hand_on(ClientRange& range, std::uint64_t count, EventSink const& sink);
    // Returns for each handler, without its address, what events lack of it.
    std::vector<MissingParts> const& missing_parts() const { return missing_parts_; }

  private:
    bool put_together(ClientRange const& range, std::uint64_t index);
    void read_fragments(EventPart const& part);
    void begin_run(std::uint32_t run);
    void note_missing(ClientRange const& range, std::uint64_t index);
    bool is_too_late(ClientRange const& range, std::uint64_t index) const;

    std::size_t handlers_;
    ClientCounters& counters_;
    std::vector<MissingParts> missing_parts_;
    History handed_on_;            // the events of one run
    std::vector<History> lacking_; // those of them that lack each handler
    std::uint32_t run_ = 0;
    Event event_; // the event that is assembled
    std::vector<FragmentView> fragments_;
    std::uint64_t event_bytes_ = 0; // size of these fragments
    std::uint32_t status_ = 0;      // their bits together
};

} // namespace thalweg::readout
