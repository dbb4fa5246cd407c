// What a run that goes on has to know about its past, and what its journals have to say about it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/journal/unit_key.h"

namespace thalweg::dataset {

// The producers of one node, in the numbers that they have among those of all nodes.
struct ProducersOfNode {
    std::uint32_t first = 0;
    std::uint32_t count = ~std::uint32_t{0};

    bool has(std::uint32_t number) const { return number >= first && number - first < count; }
};

// One for each node; if the run has one node, all.
std::vector<ProducersOfNode> producers_of_nodes(Gathered const& gathered);

// What each node has to know.
struct ResumedRun {
    std::map<std::string, std::string> knobs;
    std::vector<UnitKey> keys;                 // of the work units that count, on whichever node
    std::vector<std::uint32_t> next_producers; // by node: no number from there on was ever used
    std::vector<std::uint64_t> units;          // by node: so many of the work units are its own
};
ResumedRun resumed_run(Gathered const& gathered);

// Appends to the journal what a later close, which checks no page any more, has to know: pages that are damaged, units
// that do not count, an end for every producer whose memory is gone, and the knobs that count from now on. `own`: the
// producers of that journal. `lost`: sentences about what is gone, for the report of the run.
void journal_what_is_left(Gathered const& gathered, ProducersOfNode const& own, JournalWriter& journal,
                          std::vector<std::string> const& lost = {});

} // namespace thalweg::dataset
