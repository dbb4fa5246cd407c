// The table of work units: blobs that the text 'thalweg' refers to (docs/formats/tfile.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/format/rntuple/writing/blob_writer.h"

namespace thalweg::format::rntuple {

// The places of the table of units: pieces of kUnitsPieceBytes (the last has what is left), each a zstd frame if that
// is smaller than the piece itself.
struct StoredUnits {
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0; // base::xxh3 of all of them as they were given
    std::vector<Locator> pieces;
};

inline constexpr std::uint64_t kUnitsPieceBytes = 1 << 22;

StoredUnits append_units(std::span<std::byte const> units, BlobWriter& writer);

// Throws base::DataError where they are not what was written.
std::vector<std::byte> read_units(storage::Storage const& file, StoredUnits const& stored);

} // namespace thalweg::format::rntuple
