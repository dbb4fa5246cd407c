// Which items of a column are there: arithmetic on page lists and item ranges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/model/page.h"

namespace thalweg::dataset {

using model::Page;
using Ranges = std::vector<model::RowRange>; // ascending, disjoint, not touching

// `pages`, with their gaps filled from `waiting` (items that were journaled as rows). Both may overlap in any way; of
// two pages that do, the earlier one in the order (first, position) keeps the items.
std::vector<Page> merged(std::vector<Page> pages, std::vector<Page> waiting);

// `first` is at or behind the end of what is there.
void append_range(Ranges& ranges, std::uint64_t first, std::uint64_t count);

Ranges ranges_of(std::span<Page const> pages);
Ranges intersect(Ranges const& a, Ranges const& b);
std::uint64_t total(Ranges const& ranges);
bool contains(Ranges const& ranges, std::uint64_t first, std::uint64_t count);

// Returns those of the whole rows `valid` that a table may keep: whole blocks, and the beginning of the last block. If
// a few rows follow a torn block (empty lists are whole, whatever is missing), it ends where that costs the fewest
// rows.
Ranges keep_blocks(Ranges const& valid, std::uint64_t block_rows);

} // namespace thalweg::dataset
