// Makes a file with arrays an HDF5 file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "thalweg/checkpoint/array.h"
#include "thalweg/format/hdf5/ours/claiming_file.h"
#include "thalweg/model/attributes.h"

namespace thalweg::checkpoint {

// All in memory: libhdf5 is told where the pages lie. The metadata's place begins at `begin`.
format::hdf5::ours::ClaimingFile make_metadata(std::string const& path, std::vector<StoredArray> const& arrays,
                                               model::Attributes const& attributes, std::uint64_t begin);

} // namespace thalweg::checkpoint
