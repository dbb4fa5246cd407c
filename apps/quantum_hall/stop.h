// Decides when to stop: at a SIGTERM, or before the wall time of a queue ends.
#pragma once

#include <string>

#include "strips.h"

namespace quantum_hall {

// From now on the first SIGTERM or SIGINT is noted; a second one ends the program at once, as without this function.
void watch_signals();

class Stop {
  public:
    explicit Stop(double wall_time_s);

    // Call it after each piece of work. Returns why to stop, the same on all ranks, or an empty text. Reasons are a
    // signal to one of the ranks, and a next piece of work that would not end within the wall time if it took as long
    // as the longest one so far.
    std::string reason(Strips const& strips);
    double seconds() const; // since the beginning

  private:
    double wall_time_s_;
    double begin_s_, piece_begin_s_, longest_s_ = 0;
};

} // namespace quantum_hall
