// The page table of a file of ours against HDF5's own index.
#pragma once

#include <cstdint>

#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5::ours {

// Compares the page table of a file that Thalweg completed with HDF5's own index, page by page. Returns the number of
// pages; throws base::DataError that names the first difference.
std::uint64_t check_index(storage::Storage const& file);

} // namespace thalweg::format::hdf5::ours
