// From the metadata of a file of ours to the page map of its run.
#pragma once

#include <optional>

#include "thalweg/format/hdf5/ours/run_record.h"
#include "thalweg/format/hdf5/reading_file.h"

namespace thalweg::format::hdf5::ours {

// The datasets of a run, with the pages of its page table.
Datasets datasets_of(RunRecord& record, std::vector<Chunk> const& pages);

// Fills in the pages of all columns of the schema in `map.head`. A column without a dataset of its own is shown by a
// virtual dataset, whose mappings are found by its path. Throws base::DataError if such a column counts rows.
void fill_tables(model::RunMap& map, Datasets const& datasets,
                 std::map<std::string, std::vector<Mapping>> const& mappings);

// What is wanted of a file that Thalweg wrote and whose seal is broken: `everything` includes attributes and what other
// programs added, which only libhdf5 can tell. Rows can be found without.
enum class Contents : std::uint64_t { everything, rows };

// Returns the page map of the run; none if Thalweg did not write the file. A file that is sealed is as Thalweg wrote
// it; one that is not may make libhdf5 crash, and its pages are compared with HDF5's own index. The caller holds the
// LibraryLock.
std::optional<model::RunMap> load_run(ReadingFile& file, FileHandle const& handle, bool is_sealed, Contents wanted);

} // namespace thalweg::format::hdf5::ours
