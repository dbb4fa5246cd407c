#include "thalweg/base/checksum.h"

#include <libdeflate.h>
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h> // the same functions by what the processor has: twice as fast as with SSE2 alone
#endif

namespace thalweg::base {

std::uint64_t xxh3(std::span<std::byte const> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint32_t adler32(std::uint32_t adler, std::span<std::byte const> bytes) {
    return libdeflate_adler32(adler, bytes.data(), bytes.size());
}

} // namespace thalweg::base
