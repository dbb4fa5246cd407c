// Datasets of our own, read whole, with a checksum: HDF5 keeps one of its metadata, but not of what is in datasets.
#pragma once

#include "thalweg/format/hdf5/dataset.h"
#include "thalweg/format/hdf5/ours/appender.h"
#include "thalweg/format/hdf5/ours/claiming_file.h"
#include "thalweg/format/hdf5/reading_file.h"

namespace thalweg::format::hdf5::ours {

struct CheckedDataset {
    Dataset dataset;
    std::uint64_t checksum = 0; // base::xxh3 of all items as they are in memory
};

// One dimension of uint8 or uint64, its pages appended.
CheckedDataset append_checked(std::string path, model::Scalar scalar, std::span<std::byte const> items,
                              std::string codec, Appender& appender);

void link_checked(CheckedDataset const& checked, FileHandle const& handle, ClaimingFile& file);

// Throws base::DataError if the items are not what was written.
std::vector<std::byte> read_checked(ReadingFile& file, FileHandle const& handle, std::string const& path,
                                    model::Scalar scalar);

} // namespace thalweg::format::hdf5::ours
