// The paths of datasets in the file, and how columns are stored there.
#pragma once

#include <string>

#include "thalweg/model/column.h"

namespace thalweg::format::hdf5 {

// "/ch0/hits/flattened_data/energy" for the column "hits/*/energy" of the table "ch0", and
// "/ch0/hits/cumulative_length" for the lengths of its lists.
std::string dataset_path(model::Table const& table, model::Column const& column);

// Returns the path of the items of one part of a list's values: "/ch0/hits/.parts/flattened_data/0".
std::string part_path(std::string const& dataset_path, std::size_t part);
// Returns the path of the items of all parts that have less than a page.
std::string gathered_path(std::string const& dataset_path);

// Throws base::DataError if a field has the name of the group that holds the parts.
void check_name(model::Table const& table, model::Column const& column);

// Running sums are signed in the file, since tools of lists (awkward) take no uint64; the bytes are the same.
model::Scalar stored_scalar(model::Column const& column);

} // namespace thalweg::format::hdf5
