// What the journals of a run say, node by node, before it is put together.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/dataset/complete/journal_facts.h"

namespace thalweg::dataset {

// A segment may begin between our look at the folder and at the main journal of a run that is being written.
inline constexpr int kTriesForSegments = 3;

// Holds what the journal of one node says.
struct NodeFacts {
    explicit NodeFacts(JournalFiles const& files);

    // Reads all that lies behind `position`, or all there is.
    void read(JournalFiles const& files, JournalRows& rows, JournalPosition* position = nullptr);

    FoundPart found() const;
    // The record that was just being written does not count.
    bool is_whole() const { return missing.empty() && (damage.reason.empty() || damage.is_at_end); }

    JournalFacts journal;
    NodeOfRun which;
    std::string host;
    std::set<std::uint32_t> missing; // later segments
    JournalDamage damage;            // of what was read last
};

std::pair<std::vector<NodeFacts>, std::shared_ptr<JournalRows>> read_nodes(Journals const& files);

// As `gather` (facts.h), from journals that were read. What `nodes` hold is used up.
Gathered put_together(std::vector<NodeFacts>& nodes, std::shared_ptr<JournalRows> rows, storage::Storage const& file,
                      RunState state);

} // namespace thalweg::dataset
