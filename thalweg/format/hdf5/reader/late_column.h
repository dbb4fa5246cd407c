// The pages of a column that were left for later when its file was opened (docs/decisions/0049).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/model/page.h"

namespace thalweg::format::hdf5::reader {

// A dataset of which pages are wanted: those of `count` items from `first` on.
struct WantedDataset {
    std::string path;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

// A dataset as it is found now, with the wanted pages and with what tells whether it still is the dataset that was
// found when the file was opened; or, in `fault`, why it cannot be read.
struct LateColumn {
    model::TableMap::ColumnMap map;
    std::uint64_t items = 0;
    std::uint64_t page_items = 0;
    std::string codec;
    std::string fault;
};

} // namespace thalweg::format::hdf5::reader
