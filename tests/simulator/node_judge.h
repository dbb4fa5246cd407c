// Judges what becomes of a run of several nodes when everything stops: it is recovered on one of the machines, perhaps
// several times, and read.
#pragma once

#include <cstdint>
#include <string>

#include "tests/simulator/judge.h"
#include "tests/simulator/node_history.h"

namespace thalweg::simulator {

// Tries `states` crash states of the snapshot.
Verdict judge_nodes(Workshop& workshop, std::string const& path, NodeSnapshot const& snapshot, std::uint64_t seed,
                    std::uint64_t states);

} // namespace thalweg::simulator
