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

// Writes the checksum of the first block, which has all else by now, the superblock too.
void seal_head(storage::Storage& file);
// Throws base::DataError if the first block is not as it was when it was sealed.
void check_head(storage::Storage const& file);

// Returns none if the file has no mark: it is no checkpoint, or its mark is damaged.
std::optional<std::string> id_of(storage::Storage const& file);

// Returns true if the file has the mark of a checkpoint, or the place of its record.
bool is_checkpoint(storage::Storage const& file);

// What is known of a checkpoint beside it. By this it is told from other files, whatever is damaged in it.
struct Signs {
    std::string id;
    std::vector<std::uint8_t> superblock;
    RecordPlace place;
};
Signs signs_of(storage::Storage const& file);
// Returns true if what is left of the file is of that checkpoint: one of the signs, or, in a file that is shorter than
// a superblock, the beginning of it. Throws base::SystemError if the device can read none of them.
bool has_signs(storage::Storage const& file, Signs const& signs);

// Throws base::DataError if it is damaged.
RecordPlace place_of(storage::Storage const& file);
std::vector<std::byte> read_checked(storage::Storage const& file, Checked const& place, char const* what);

} // namespace thalweg::checkpoint
