// The dataset /thalweg/run: what Thalweg knows of a run, as JSON, and the group /thalweg/metadata for other programs.
#pragma once

#include <map>
#include <optional>

#include "thalweg/format/hdf5/ours/checked_dataset.h"
#include "thalweg/format/hdf5/ours/file_plan.h"
#include "thalweg/model/run.h"

namespace thalweg::format::hdf5::ours {

// Datasets by their path.
using Datasets = std::map<std::string, Dataset>;

// A dataset as the record names it; its pages are in the page table.
struct RecordedDataset {
    std::string path;
    std::uint64_t items = 0;
    std::uint64_t pages = 0;
};

struct RunRecord {
    model::RunHead head;
    std::map<std::string, std::string> metadata;
    std::vector<RecordedDataset> datasets; // in the order of the page table
    // The items that virtual datasets show. The record has them, too, because HDF5 keeps them without a checksum.
    std::map<std::string, std::vector<Mapping>> mappings;
};

CheckedDataset plan_run_record(FilePlan const& plan, model::RunHead const& head,
                               std::map<std::string, std::string> const& metadata, Appender& appender);

// The dataset /thalweg/units.
CheckedDataset plan_units(std::span<std::byte const> units, Appender& appender);

// Version and run number of the file, and the metadata, as attributes. /thalweg is there already.
void write_run_attributes(model::RunHead const& head, std::map<std::string, std::string> const& metadata,
                          FileHandle const& handle);

// Returns nothing if Thalweg did not write the file.
std::optional<RunRecord> read_run_record(ReadingFile& file, FileHandle const& handle);

// Returns nothing if there are none. Throws base::DataError if they are damaged.
std::vector<std::byte> read_units(ReadingFile& file, FileHandle const& handle);

} // namespace thalweg::format::hdf5::ours
