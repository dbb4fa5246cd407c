#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

// Adler-32 of the whole file. Reads only what is not `known`, and no holes.
std::uint32_t file_adler32(storage::Storage const& file, std::vector<KnownBytes> known);

// Adler-32 of bytes that begin with those of `first` and end with `second_bytes` bytes of `second`.
std::uint32_t combine_adler32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

// Describes a page whose own Adler-32 is known. With `checksum_follows`, the 8 bytes of `page.checksum` behind it are
// known, too.
KnownBytes known_page(model::Page const& page, std::uint32_t adler32, bool checksum_follows);

} // namespace thalweg::dataset
