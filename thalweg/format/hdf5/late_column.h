// The pages of a column that were left for later when its file was opened (docs/decisions/0049).
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/model/page.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5 {

// A dataset as it is found now, with its pages, and what tells whether it still is the one that was found then.
struct LateColumn {
    model::TableMap::ColumnMap map;
    std::uint64_t items = 0;
    std::uint64_t page_items = 0;
    std::string codec;
};

// By libhdf5 in this process.
LateColumn load_dataset_here(storage::Storage const& file, std::string const& dataset);

} // namespace thalweg::format::hdf5
