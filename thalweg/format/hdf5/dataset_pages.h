// From a dataset and its chunks to the pages of a column.
#pragma once

#include <vector>

#include "thalweg/format/hdf5/dataset.h"
#include "thalweg/model/run.h"

namespace thalweg::format::hdf5 {

// Whether the pages say all that there is to say of the dataset: they are whole items by its one codec, little endian,
// and lie in the file.
bool is_plain(Dataset const& dataset);

// Returns the pages of a dataset, numbered by item.
std::vector<model::Page> pages_of(Dataset const& dataset);

// Copies all that a dataset says of a column but its pages.
void copy_layout(Dataset const& dataset, model::TableMap::ColumnMap& column);

// Returns the pages of a column that has this dataset for itself, and how they are laid out.
model::TableMap::ColumnMap column_map(model::Column const& column, Dataset const& dataset);

} // namespace thalweg::format::hdf5
