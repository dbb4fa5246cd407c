#include "thalweg/base/checksum.h"

#include <libdeflate.h>
#include <xxhash.h>

namespace thalweg::base {

std::uint64_t xxh3(std::span<std::byte const> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint32_t adler32(std::uint32_t adler, std::span<std::byte const> bytes) {
    return libdeflate_adler32(adler, bytes.data(), bytes.size());
}

} // namespace thalweg::base
