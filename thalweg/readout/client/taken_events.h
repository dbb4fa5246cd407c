// How far the first handler has given events away, and which events are missing in between.
#pragma once

#include <algorithm>
#include <cstdint>

#include "thalweg/base/assert.h"
#include "thalweg/readout/client/history.h"
#include "thalweg/readout/protocol.h"

namespace thalweg::readout {

class TakenEvents {
  public:
    // Returns the end of the last range that was taken in this run; 0: none yet.
    std::uint64_t end() const { return end_; }
    // The first handler was restarted: it goes on behind what was taken, perhaps further on.
    void started_anew() { gap_possible_ = true, anew_from_ = end_; }
    // Returns whether a restarted handler counts events of the same run from the beginning, so that two events would
    // have one number. If it continues the earlier numbers, these are late packets of events that the client had.
    bool counts_from_the_beginning(Taken const& taken) const {
        return taken.run == run_ && taken.first < anew_from_ && taken.continues == 0;
    }
    std::uint64_t anew_from() const { return anew_from_; }

    // Returns how many events are missing in front of the range: events that no handler knows any more.
    std::uint64_t add(Taken const& taken) {
        THALWEG_ASSERT(taken.count > 0, "a range that was taken has an event");
        std::uint64_t missing = 0;
        bool const is_same_reset = end_ > 0 && taken.first >> 24 == (end_ - 1) >> 24;
        if (gap_possible_ && taken.run == run_ && is_same_reset && taken.first > end_) {
            missing = taken.first - end_;
            gaps_.add(end_, taken.first);
        }
        gap_possible_ = false;
        if (taken.run != run_) {
            run_ = taken.run;
            end_ = anew_from_ = 0;
            gaps_ = {};
        }
        end_ = std::max(end_, taken.first + taken.count);
        return missing;
    }
    // Another handler has these events: returns how many of them were counted as missing.
    std::uint64_t found(std::uint64_t first, std::uint64_t end) { return gaps_.remove(first, end); }

  private:
    std::uint32_t run_ = 0;
    std::uint64_t end_ = 0;
    std::uint64_t anew_from_ = 0; // everything before it was taken before the restart
    bool gap_possible_ = false;
    History gaps_;
};

} // namespace thalweg::readout
