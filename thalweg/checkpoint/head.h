// The first block of a checkpoint: docs/formats/checkpoint.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/storage/storage.h"

namespace thalweg::checkpoint {

// Bytes of the file, and base::xxh3 of them.
struct Checked {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t checksum = 0;
};

// The places of the record and of the checksums of all pieces.
struct RecordPlace {
    Checked record;
    Checked checksums;
    std::uint64_t place_checksum = 0; // of all of the above
};
static_assert(sizeof(RecordPlace) == 56);

std::vector<std::byte> head_block(std::string const& id, RecordPlace place);

// Return none for a file that is no checkpoint.
std::optional<std::string> id_of(storage::Storage const& file);
std::optional<std::string> id_of_file(std::string const& path);

// Throws base::DataError if it is damaged.
RecordPlace place_of(storage::Storage const& file);
std::vector<std::byte> read_checked(storage::Storage const& file, Checked const& place, char const* what);

} // namespace thalweg::checkpoint
