#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg::base {

// XXH3, 64 bits: of every stored page and every journal record; what RNTuple uses for pages and envelopes, too.
std::uint64_t xxh3(std::span<std::byte const> bytes);

// Adler-32 (RFC 1950, section 8) of more bytes after those that gave `adler`; begin with 1. It is the checksum that
// archives such as CASTOR and CTA keep of a whole file.
std::uint32_t adler32(std::uint32_t adler, std::span<std::byte const> bytes);

} // namespace thalweg::base
