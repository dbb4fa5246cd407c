// Metadata of any HDF5 file, read by libhdf5 in this process.
#pragma once

#include <vector>

#include "thalweg/format/hdf5/ours/load_run.h"
#include "thalweg/format/hdf5/reader/late_column.h"

namespace thalweg::format::hdf5::reader {

// Returns the page map of a file. If the file `is_sealed`, its metadata is as Thalweg wrote it; otherwise it may make
// libhdf5 crash, which only the reading process may risk.
model::RunMap load_here(storage::Storage const& file, bool is_sealed,
                        ours::Contents wanted = ours::Contents::everything);

// Returns as many datasets as are wanted, in the same order.
std::vector<LateColumn> load_datasets_here(storage::Storage const& file, std::vector<WantedDataset> const& wanted);

} // namespace thalweg::format::hdf5::reader
