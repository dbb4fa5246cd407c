// What a run is created, joined or resumed with.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/node_folder/node_rules.h"
#include "thalweg/model/schema.h"
#include "thalweg/tuning/options.h"

namespace thalweg::dataset {

// For a run that several nodes write, each on a machine of its own: all see the folder of the file.
struct NodesOptions {
    std::uint32_t nodes = 1;
    NodeRules rules = {}; // those of the node that creates the run count
    // A node waits so long for the others to come, and later so long for a sign of life of another one.
    std::uint64_t timeout_ns = 60'000'000'000;
    // Called while this node waits for others, and while producers of this process wait (OpenRun::while_waiting).
    std::function<void()> while_waiting = {};
};

struct JoinOptions : NodesOptions {
    std::optional<model::Schema> schema = {}; // if one is given, it has to be that of the run; so has `nodes`
    bool resume = false;                      // this node returns to a run that the first one resumes
    JoinOptions() { nodes = 0; }
};

struct CreateOptions : tuning::Tuning {
    bool force = false; // replace a file, or an unfinished run, that is there already
    bool shared = true; // other processes may attach
    // Rows are in the order of the keys of their work units, which are integers and are committed in groups of so many
    // consecutive ones: the file is the same for any number of workers. RNTuple alone. 0: in no order.
    std::uint64_t keys_per_group = 0;
    JournalLimits journal = {};
    NodesOptions nodes = {};
    // Names of knobs that are given although they may have their default: `resume` takes these, and those that differ
    // from their defaults, from here, and all others from the run.
    std::set<std::string> given = {};
};

} // namespace thalweg::dataset
