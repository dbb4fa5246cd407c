// The end of a save, on rank 0: from what all ranks have written to an HDF5 file.
#pragma once

#include <vector>

#include "thalweg/checkpoint/layout.h"
#include "thalweg/checkpoint/ranks.h"
#include "thalweg/checkpoint/record.h"

namespace thalweg::checkpoint {

// The datasets of all arrays, with the pages of all ranks.
std::vector<StoredArray> gather_arrays(std::vector<ArrayPlan> const& plans, std::vector<Json> const& facts);

// What lies in blocks that several ranks have a part of.
void write_edges(storage::Storage& file, std::vector<Json> const& facts);

// Record, metadata and head; durable when it returns. Returns the size of the file.
std::uint64_t complete_file(storage::Storage& file, Record const& record);

} // namespace thalweg::checkpoint
