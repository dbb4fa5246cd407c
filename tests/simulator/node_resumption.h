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
    std::optional<NodeSnapshot> stop; // a stop during the resumption
    bool stop_is_behind = false;      // the stop came after all had returned: `taken` is what was there then
    NodeSnapshot after;
    std::vector<std::string> faults;
};

// `has_all` returns whether all rows that `append` has taken on a node are among those that the nodes find.
Resumption resume_nodes(Workshop& workshop, std::string const& path, NodeSnapshot const& state, HasAll const& has_all,
                        std::string const& name, Random& random);

} // namespace thalweg::simulator
