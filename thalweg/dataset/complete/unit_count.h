// Which work units of a run count: those with all their rows in every table.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/complete/part_builder.h"

namespace thalweg::dataset {

// Keeps, of the parts whose rows count in units only, the rows of the units that count, and returns these. Where pages
// are damaged a unit is lost in all tables, and so are those that share a block or a cluster with what it lost: until
// every unit that is left is whole. `is_over`: what is not there now will not come, and is said. `left_out` gets the
// keys of the others.
std::vector<UnitFacts> count_units(std::vector<UnitFacts> units, std::map<std::uint32_t, PartBuilder>& parts,
                                   bool is_over, std::vector<UnitKey>& left_out, RunReport& report,
                                   std::uint64_t keys_per_group = 0);

// Leaves one unit of each key, for a run of several nodes: the first one that is whole, in the order of the nodes. So a
// unit that was lost with its machine does not hide the one that was done again on another. Returns, by producer,
// the rows of the others, which are not lost.
std::map<std::uint32_t, std::uint64_t> choose_units(std::vector<UnitFacts>& units,
                                                    std::map<std::uint32_t, PartBuilder>& parts, RunReport& report);

// Orders a run by key, in which groups of units count: puts the groups and their clusters in the order of their
// numbers, and returns their units. A list of units that cannot be read is noted.
std::vector<UnitFacts> units_by_key(std::vector<UnitFacts>& groups, std::map<std::uint32_t, PartBuilder>& parts,
                                    std::size_t tables, RunReport& report);

} // namespace thalweg::dataset
