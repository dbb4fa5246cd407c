// Which producer wrote which rows of a table: what a reader of an open run knows its rows by, since their numbers in
// the table change until the run is closed (docs/decisions/0002).
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/journal/journal.h"

namespace thalweg::dataset {

// Rows that follow each other in their table, and as their producer counts them.
struct RowSource {
    std::uint32_t node = 0;      // from 0
    std::uint32_t producer = 0;  // among those of its node
    std::uint64_t first_row = 0; // as it counts
    std::uint64_t rows = 0;

    bool operator==(RowSource const&) const = default;
};

using TableOrder = std::vector<RowSource>; // in the order of the table's rows
using RowOrder = std::vector<TableOrder>;  // by table

std::uint64_t total(TableOrder const& order);

RowOrder order_of(Gathered const& gathered);

// Returns the order of a run that has been closed or recovered, from its journals, which were opened before they were
// removed. Later
// segments may be gone: so rows are counted as their producers said when they ended. Empty if that is not what the
// file has, whose tables have so many rows: some were lost.
RowOrder order_when_closed(Journals const& journals, storage::Storage const& file,
                           std::vector<std::uint64_t> const& rows);

} // namespace thalweg::dataset
