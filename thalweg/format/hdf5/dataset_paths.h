// Where in the file the columns of a table are found.
#pragma once

#include <string>

#include "thalweg/model/column.h"

namespace thalweg::format::hdf5 {

// "/ch0/hits/flattened_data/energy" for the column "hits/*/energy" of the table "ch0", and
// "/ch0/hits/cumulative_length" for the lengths of its lists.
std::string dataset_path(model::Table const& table, model::Column const& column);

// Where the items of one part of a list's values lie: "/ch0/hits/.parts/flattened_data/0".
std::string part_path(std::string const& dataset_path, std::size_t part);
// And those of all parts that have less than a page.
std::string gathered_path(std::string const& dataset_path);

// Throws base::DataError where a field has the name of what holds the parts.
void check_name(model::Table const& table, model::Column const& column);

// Running sums are signed in the file, since tools of lists (awkward) take no uint64; the bytes are the same.
model::Scalar stored_scalar(model::Column const& column);

} // namespace thalweg::format::hdf5
