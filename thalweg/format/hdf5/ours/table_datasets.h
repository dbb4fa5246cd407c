// Plans the datasets of a file from the pages that producers wrote.
#pragma once

#include "thalweg/format/hdf5/ours/appender.h"
#include "thalweg/format/hdf5/ours/file_plan.h"
#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5::ours {

// Plans the datasets of all tables. Pages that the grid needs and the file lacks are appended.
FilePlan plan_tables(storage::Storage const& file, storage::Storage const& journal, model::RunHead const& head,
                     model::RunFacts const& facts, Appender& appender);

// Throws base::DataError if pages overlap, or reach into the head of the file or behind `end`: each page has one
// owner, and is linked once.
void check_disjoint(FilePlan const& plan, std::uint64_t end);

} // namespace thalweg::format::hdf5::ours
