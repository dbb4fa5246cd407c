// Judges what becomes of a run when everything stops: it is recovered, perhaps several times, and read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/simulator/history.h"

namespace thalweg::simulator {

struct Verdict {
    std::uint64_t states = 0; // states that were recovered and read
    std::uint64_t rows = 0;   // rows that `append` had taken in them; the next one counts those that must be there
    std::uint64_t promised_rows = 0;
    std::uint64_t shown = 0;   // states in which other programs saw rows of an open run
    std::uint64_t copies = 0;  // copies that were recovered before their originals
    std::uint64_t resumed = 0; // runs of several nodes that all nodes resumed
    std::vector<std::string> faults;
};

// Returns the weather of a machine on which a run is recovered: nothing fails by itself.
Weather calm(Random& random);

// Returns whether the file opens in other programs, which do not look for a journal.
bool opens_as_complete(std::string const& path);

// Tries `states` crash states of the snapshot number `index` of a history.
Verdict judge(Workshop& workshop, std::string const& path, std::span<Snapshot const> snapshots, std::size_t index,
              std::uint64_t seed, std::uint64_t states);

} // namespace thalweg::simulator
