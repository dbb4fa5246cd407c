// What the first node decides for all: it is announced before the run begins.
#pragma once

#include <cstdint>

#include "thalweg/dataset/node_folder/parts_folder.h"

namespace thalweg::dataset {

struct NodeRules {
    // If a node dies, the others go on without it, and complete the file with what it has made durable. Otherwise the
    // run ends for all.
    bool goes_on = false;
    // Units of one key may be done on any node: the key is taken through the folder, so many consecutive ones at once.
    // 0: a key belongs to the node that it is given to.
    std::uint64_t keys_together = 0;

    bool operator==(NodeRules const&) const = default;
};

void announce_rules(PartsFolder const& parts, NodeRules const& rules);
// Returns the rules of a run that has begun.
NodeRules rules_of(PartsFolder const& parts);

} // namespace thalweg::dataset
