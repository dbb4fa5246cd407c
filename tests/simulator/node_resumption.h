// All nodes of a run that was left come back to it, each on its machine, add rows, and close it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/simulator/judge.h"
#include "tests/simulator/node_history.h"

namespace thalweg::simulator {

struct Resumption {
    bool refused = false;             // it can still be recovered
    std::optional<NodeSnapshot> stop; // in the midst of it,
    bool stop_is_behind = false;      // when all had returned: `taken` is what was there then
    NodeSnapshot after;
    std::vector<std::string> faults;
};

// `has_all`: what the nodes find there has all rows that `append` has taken on such a node.
Resumption resume_nodes(Workshop& workshop, std::string const& path, NodeSnapshot const& state, HasAll const& has_all,
                        std::string const& name, Random& random);

} // namespace thalweg::simulator
