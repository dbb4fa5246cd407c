// Reads pages, each piece compared with its checksum.
#pragma once

#include <string>
#include <vector>

#include "thalweg/checkpoint/elements.h"
#include "thalweg/storage/storage.h"

namespace thalweg::checkpoint {

// Something that one thread reads: a piece of a page, or a whole one where it is encoded.
struct Reading {
    StoredArray const* array = nullptr;
    Part const* part = nullptr;
    Page const* page = nullptr;
    std::size_t piece = 0;
};

std::vector<Reading> readings_of(StoredArray const& array);

// Empty, or what is damaged.
std::string why_damaged(storage::Storage const& file, Reading const& reading);

// Copies what the reading has of `memory` there; reads nothing where it has nothing. Throws base::DataError.
void read_into(storage::Storage const& file, Reading const& reading, Memory const& memory);

} // namespace thalweg::checkpoint
