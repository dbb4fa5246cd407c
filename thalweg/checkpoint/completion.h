// The end of a save, on rank 0: from what all ranks have written to an HDF5 file.
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

// The datasets of all arrays, with the pages of all ranks.
std::vector<StoredArray> gather_arrays(std::vector<ArrayPlan> const& plans, std::vector<Json> const& facts);

// What lies in blocks that several ranks have a part of.
void write_edges(storage::Storage& file, std::vector<Json> const& facts);

// Record and metadata, behind all pages; nobody can read the file by them yet, and nothing is synced.
class Completion {
  public:
    Completion(storage::Storage& file, Record const& record);

    // What says that it is a checkpoint and an HDF5 file: when all bytes of all ranks are written. All that this
    // machine has written to the file is durable when it returns.
    void finish();
    std::uint64_t file_bytes() const { return made_.allocated_end(); }

  private:
    storage::Storage& file_;
    std::string id_;
    RecordPlace place_;
    format::hdf5::ours::ClaimingFile made_;
};

} // namespace thalweg::checkpoint
