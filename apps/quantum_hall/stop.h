// When to stop: SIGTERM, or the wall time that a queue allows.
#pragma once

#include <string>

#include "strips.h"

namespace quantum_hall {

// From now on the first SIGTERM or SIGINT is noted; a second one ends the program at once, as it would have before.
void watch_signals();

class Stop {
  public:
    explicit Stop(double wall_time_s);

    // After each piece of work. Why to stop, the same on all ranks, or empty: a signal has come to one of them, or the
    // next piece of work would not end within the wall time if it took as long as the longest so far.
    std::string reason(Strips const& strips);
    double seconds() const; // since the beginning

  private:
    double wall_time_s_;
    double begin_s_, piece_begin_s_, longest_s_ = 0;
};

} // namespace quantum_hall
