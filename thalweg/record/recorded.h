// Uses recorded files as a source.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/source/compass.h"
#include "thalweg/source/replay.h"

namespace thalweg::record {

// Reads all tables of an HDF5 file into memory (files of Thalweg or lh5, also of a run that is still open).
std::vector<source::RowSet> read_row_sets(std::string const& path);

// Replays a CoMPASS file (.BIN) or an HDF5 file (.h5, .hdf5, .lh5); throws base::UsageError for others. The metadata
// names the file, and what the file says of its own clock. `compass` applies to CoMPASS files only.
std::unique_ptr<source::Source> open_recorded(std::string const& path, source::ReplayOptions options,
                                              source::CompassOptions const& compass = {});

} // namespace thalweg::record
