// A run's map as bytes, from one process to another of the same build.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "thalweg/format/hdf5/reader/late_column.h"
#include "thalweg/model/run.h"

namespace thalweg::format::hdf5::reader {

std::vector<std::byte> to_bytes(model::RunMap const& map);
// Throws base::DataError for anything that is not such a map: the other process may have read damaged metadata.
model::RunMap run_map_from_bytes(std::span<std::byte const> bytes);

// The same for datasets, and for what is wanted of them.
std::vector<std::byte> to_bytes(std::vector<LateColumn> const& late);
std::vector<LateColumn> late_columns_from_bytes(std::span<std::byte const> bytes);
std::vector<std::byte> to_bytes(std::vector<WantedDataset> const& wanted);
std::vector<WantedDataset> wanted_datasets_from_bytes(std::span<std::byte const> bytes);

} // namespace thalweg::format::hdf5::reader
