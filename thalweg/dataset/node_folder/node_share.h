// What a process knows that writes one node's part of a run of several nodes, and what it tells the others. They agree
// by names in the folder of the run (parts_folder.h), each of which the first node that creates it has:
//
//     begun          node 1: all nodes are there                       (nodes/meeting.h)
//     region-000007  the node whose journal says that it has it        (commit/region_space.h)
//     finished-0002  node 2: all that it had is in its journal, and    (nodes/node_ending.h)
//                    how much that is
//     dead-0002      any node: the others go on without node 2
//     failure        any node: the run cannot be completed by them
//     closing        the node that completes the file; no region is taken from then on
//     complete       the same node: the file is complete
//     recovering     a process that recovers the run, told that all nodes are down
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

    // Creates a name with a text, also on a full disk. Returns false if it is there already.
    bool announce(std::string const& name, std::string const& text) const;
    // Tells all nodes that the run cannot be completed by them. The first one that says so is heard.
    void announce_failure(std::string const& why) const;
    // Tells them that this node ends before it has finished: with it the run ends for all, or goes on without it.
    void announce_end(std::string const& why) const;
    // Tells them the same about another node.
    void announce_death(std::uint32_t node, std::string const& why) const;
    // Tells them that this node completes the file. Returns false if another one has said so, or if the folder is gone.
    bool announce_completion() const;
    // Returns why the run cannot be completed; empty if no node has said so. The name alone says it: if its text does
    // not come, its node has died, or its disk was full.
    std::string failure() const;
    // Returns why this node is taken for dead in a run that goes on without the dead; empty if it is not.
    std::string own_death() const;
    // Returns why the file is completed without what this node, which has not finished, journals from now on; empty if
    // it is not. What was in its journal before this was asked counts.
    std::string superseded() const;
    // Returns why another process completes the file that this node is completing; empty if none does.
    std::string superseded_in_completion() const;
    // Returns what a user can do about a run that has ended for this node: there is nothing to recover if the others
    // have completed it.
    std::string advice(std::string const& path) const;
    // Returns, of the nodes that are not dead, the first one, which completes the file, and the one behind this one.
    std::uint32_t first_living() const;
    std::uint32_t next_living() const;

  private:
    std::string said(std::string const& name) const;
    bool is_dead(std::uint32_t node, PartsFolder::Names const& names) const;
};

} // namespace thalweg::dataset
