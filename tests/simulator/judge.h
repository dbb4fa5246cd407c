// What becomes of a run when everything stops: it is recovered, perhaps several times, and read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/history.h"

namespace thalweg::simulator {

struct Verdict {
    std::uint64_t states = 0; // that were recovered and read
    std::uint64_t rows = 0;   // that `append` had taken in them, and of these: that must be there
    std::uint64_t promised_rows = 0;
    std::vector<std::string> faults;
};

// Tries `states` crash states of what a snapshot holds.
Verdict judge(Workshop& workshop, std::string const& path, Snapshot const& snapshot, std::uint64_t seed,
              std::uint64_t states);

} // namespace thalweg::simulator
