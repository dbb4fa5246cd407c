// From the datasets of a file to the page map of a run.
#pragma once

#include "thalweg/format/hdf5/reading_file.h"
#include "thalweg/format/hdf5/run_record.h"

namespace thalweg::format::hdf5 {

// The datasets of a run, with the pages of its page table.
Datasets datasets_of(RunRecord& record, std::vector<GridPage> const& pages);

// Its pages are whole items by its one codec, little endian, in the file: the pages say all that there is to say.
bool is_plain(Dataset const& dataset);

// The pages of a dataset, numbered by item.
std::vector<model::Page> pages_of(Dataset const& dataset);

// All that a dataset says of a column but its pages.
void copy_layout(Dataset const& dataset, model::TableMap::ColumnMap& column);

// The pages of all columns of the schema in `map.head`. A column without a dataset is a virtual one with mappings.
void fill_tables(model::RunMap& map, Datasets const& datasets,
                 std::map<std::string, std::vector<Mapping>> const& mappings);

// Of a file that Thalweg wrote and whose seal is broken: with or without what only libhdf5 can tell of it, which are
// attributes and what other programs added. Rows can be found without.
enum class Contents : std::uint64_t { everything, rows };

// By libhdf5 in this process. What `is_sealed` is as Thalweg wrote it; what is not may make libhdf5 crash.
model::RunMap load_here(storage::Storage const& file, bool is_sealed, Contents wanted = Contents::everything);

// Schema and datasets of a file that Thalweg did not write.
Datasets read_foreign(model::RunMap& map, ReadingFile& file, FileHandle const& handle);

} // namespace thalweg::format::hdf5
