// What becomes of a run when everything stops: it is recovered, perhaps several times, and read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/simulator/history.h"

namespace thalweg::simulator {

struct Verdict {
    std::uint64_t states = 0; // that were recovered and read
    std::uint64_t rows = 0;   // that `append` had taken in them, and of these: that must be there
    std::uint64_t promised_rows = 0;
    std::uint64_t copies = 0;  // that were recovered, besides, before their originals
    std::uint64_t resumed = 0; // runs of several nodes, by all of these
    std::vector<std::string> faults;
};

// Of a machine on which something is recovered: nothing fails by itself.
Weather calm(Random& random);

// As every other program sees it, which does not look for a journal.
bool opens_as_complete(std::string const& path);

// Tries `states` crash states of what the snapshot number `index` of a history holds.
Verdict judge(Workshop& workshop, std::string const& path, std::span<Snapshot const> snapshots, std::size_t index,
              std::uint64_t seed, std::uint64_t states);

} // namespace thalweg::simulator
