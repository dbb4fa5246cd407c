// What a process knows that writes one node's part of a run of several nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/node_folder/node_rules.h"
#include "thalweg/dataset/node_folder/parts_folder.h"
#include "thalweg/dataset/node_folder/region_plan.h"

namespace thalweg::dataset {

struct NodeShare {
    NodeOfRun which;
    PartsFolder parts;
    RegionPlan plan;
    std::uint64_t timeout_ns;                       // so long one node waits for a sign of life of another
    NodeRules rules = {};                           // known once the run has begun
    std::optional<base::FileIdentity> journal = {}; // of this node

    // Tells all nodes that the run cannot be completed by them. The first one who says so is heard.
    void announce_failure(std::string const& why) const;
    // That this node ends before it has finished: with it the run ends for all, or goes on without it.
    void announce_end(std::string const& why) const;
    // The same, of another node.
    void announce_death(std::uint32_t node, std::string const& why) const;
    // That this node completes the file. False where somebody else has said so, or the folder is gone.
    bool announce_completion() const;
    // Empty where nobody has.
    std::string failure() const;
    // Of a run that goes on without the dead: empty, or why this node is one of them.
    std::string own_death() const;
    // Of a node that has not finished: empty, or why the file is completed without what it journals from now on. What
    // was in its journal before this was asked counts.
    std::string superseded() const;
    // Of the one that completes the file: empty, or why somebody else does so.
    std::string superseded_in_completion() const;
    // Without nodes that are dead: the first one, who completes the file, and the one behind this one.
    std::uint32_t first_living() const;
    std::uint32_t next_living() const;

  private:
    bool is_dead(std::uint32_t node) const;
};

} // namespace thalweg::dataset
