// Reads pages, each piece compared with its checksum.
#pragma once

#include <string>
#include <vector>

#include "thalweg/checkpoint/elements.h"
#include "thalweg/storage/storage.h"

namespace thalweg::checkpoint {

// A thread reads this at once: a piece of a page, or a whole page if it is encoded.
struct Reading {
    StoredArray const* array = nullptr;
    ArrayPart const* part = nullptr;
    ArrayPage const* page = nullptr;
    std::size_t piece = 0;
};

std::vector<Reading> readings_of(StoredArray const& array);

// Returns "", or a sentence about what is damaged.
std::string why_damaged(storage::Storage const& file, Reading const& reading);

// Copies the elements that the reading and `memory` have in common into `memory`; reads nothing if there are none.
// Throws base::DataError.
void read_into(storage::Storage const& file, Reading const& reading, Memory const& memory);

} // namespace thalweg::checkpoint
