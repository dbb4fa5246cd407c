// Files that Thalweg did not write: what is found in them as the tables of a run.
#pragma once

#include "thalweg/format/hdf5/reading_file.h"
#include "thalweg/model/run.h"

namespace thalweg::format::hdf5::others {

// Returns the tables of a file that Thalweg did not write, and what of it is left out. Throws base::DataError if it
// holds no table. The caller holds the LibraryLock.
model::RunMap load(ReadingFile& file, FileHandle const& handle);

} // namespace thalweg::format::hdf5::others
