// The page map of one table, from the clusters of its RNTuple.
#pragma once

#include <vector>

#include "thalweg/format/rntuple/reading/ntuple_file.h"
#include "thalweg/format/rntuple/schema/schema.h"

namespace thalweg::format::rntuple {

// `sources`: of each column. Rows that are older than a column read as zeros, and as lists without elements. Throws
// base::DataError naming table, column and row where pages are missing, or hold more than they can.
model::TableMap load_table(StoredNTuple const& ntuple, std::vector<model::Column> const& columns,
                           std::vector<ForeignTable::Source> const& sources);

} // namespace thalweg::format::rntuple
