// A process of its own for metadata that nothing vouches for: libhdf5 1.10 may write where it should not while it reads
// damaged ones, and the process that did it dies later, or worse, does not.
#pragma once

#include "thalweg/format/hdf5/reader/late_column.h"
#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5::reader {

// What `load` gives, from a new process (thalweg-hdf5-reader), which asks for the bytes that it wants: the file is only
// read here. Throws base::DataError where the metadata cannot be read, and where libhdf5 crashes on it;
// base::SystemError where the program cannot be started.
model::RunMap load_by_program(storage::Storage const& file);

// In the same way pages of datasets. As many as are wanted.
std::vector<LateColumn> load_datasets_by_program(storage::Storage const& file,
                                                 std::vector<WantedDataset> const& wanted);

} // namespace thalweg::format::hdf5::reader
