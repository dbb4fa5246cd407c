// One file of a journal that is written, and where its records end.
#pragma once

#include <cstdint>
#include <memory>

#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

struct OpenSegment {
    std::shared_ptr<storage::Storage> file;
    std::uint64_t end = 0;
    std::uint64_t reserved = 0;   // up to here there is room for its records
    std::uint64_t rows_bytes = 0; // in records of rows
    bool is_dirty = false;
    bool is_new = false;             // its name is not durable yet
    std::uint64_t emptied_after = 0; // so many barriers: nothing in it is needed any more
};

} // namespace thalweg::dataset
