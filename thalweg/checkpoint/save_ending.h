// Ends a save on rank 0: makes an HDF5 file of what all ranks have written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/checkpoint/head.h"
#include "thalweg/checkpoint/layout.h"
#include "thalweg/checkpoint/ranks.h"
#include "thalweg/checkpoint/record.h"
#include "thalweg/format/hdf5/ours/claiming_file.h"

namespace thalweg::checkpoint {

// Returns the datasets of all arrays, with the pages of all ranks, in the order of `plans`.
std::vector<StoredArray> gather_arrays(std::vector<ArrayPlan> const& plans, std::vector<Json> const& facts);

// Writes blocks of which several ranks have a part.
void write_edges(storage::Storage& file, std::vector<Json> const& facts);

// Returns the end of the last page, rounded up to whole blocks.
std::uint64_t end_of_pages(Record const& record);

// The constructor writes record and metadata behind all pages. No reader can open the file by them yet, and nothing is
// synced.
class SaveEnding {
  public:
    SaveEnding(storage::Storage& file, Record const& record);

    // Writes what says that the file is a checkpoint and an HDF5 file. All bytes of all ranks are written before. All
    // that this machine has written to the file is durable when it returns.
    void finish();
    std::uint64_t file_bytes() const { return made_.allocated_end(); }

  private:
    storage::Storage& file_;
    std::string id_;
    RecordPlace place_;
    format::hdf5::ours::ClaimingFile made_;
};

} // namespace thalweg::checkpoint
