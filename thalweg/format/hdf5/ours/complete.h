// The beginning and the end of a file of ours. The format: docs/formats/hdf5.md.
#pragma once

#include "thalweg/format/format.h"

namespace thalweg::format::hdf5::ours {

// Writes the head of the file, and returns where its first page may lie. Throws base::UsageError if HDF5 cannot hold
// the schema.
std::uint64_t begin(storage::Storage& file, model::RunHead const& head);

// As format::Format::complete. All that libhdf5 does happens in memory; then metadata, seal and superblock are written.
Completed complete(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                   model::RunFacts const& facts);

} // namespace thalweg::format::hdf5::ours
