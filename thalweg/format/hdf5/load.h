// From the datasets of a file to the page map of a run.
#pragma once

#include <functional>

#include "thalweg/format/hdf5/plan.h"
#include "thalweg/format/hdf5/reading_file.h"
#include "thalweg/model/run.h"

namespace thalweg::format::hdf5 {

// Datasets by their path.
using Datasets = std::map<std::string, Dataset>;

// The pages of a dataset, numbered by item.
std::vector<model::Page> pages_of(Dataset const& dataset);

// The pages of all columns of the schema in `map.head`. Where a column is a virtual dataset, `map.head` gets its
// mappings from the file. `datasets` holds every dataset that has pages.
void fill_tables(model::RunMap& map, Datasets const& datasets, ReadingFile& file, FileHandle const& handle);

// The datasets of a known schema by HDF5's own metadata, for files that another program has rewritten; the layouts of
// the head are set to what is found.
Datasets read_datasets(model::RunHead& head, ReadingFile& file, FileHandle const& handle);

// Schema and datasets of a file that Thalweg did not write.
Datasets read_foreign(model::RunMap& map, ReadingFile& file, FileHandle const& handle);

} // namespace thalweg::format::hdf5
