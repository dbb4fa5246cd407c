// The group /thalweg/pages: where every page of the file lies, in a few large pieces instead of a million small ones.
#pragma once

#include <optional>

#include "thalweg/format/hdf5/ours/checked_dataset.h"
#include "thalweg/format/hdf5/ours/file_plan.h"

namespace thalweg::format::hdf5::ours {

// One number for every page of the plan, in its order, in each of three datasets.
std::vector<CheckedDataset> plan_page_table(FilePlan const& plan, Appender& appender);

// Returns all pages, dataset after dataset; `encoded` is not set.
std::vector<Chunk> read_page_table(ReadingFile& file, FileHandle const& handle);

} // namespace thalweg::format::hdf5::ours
