// Samples that an instrument packs without gaps, 10, 12 or 14 bits each, become 16-bit integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace thalweg::source::samples {

struct Packing {
    unsigned bits = 10;      // 10, 12 or 14
    bool high_first = false; // the first sample begins at the highest bit of the first byte, else at the lowest
    bool is_signed = false;  // two's complement, else not negative
};

// Returns the size of so many packed samples. Unused bits at the end of the last byte count.
constexpr std::size_t packed_bytes(unsigned bits, std::size_t count) { return (count * bits + 7) / 8; }

// Writes `count` samples of 2 bytes each. It reads packed_bytes(packing.bits, count) bytes, and not one more.
using Unpack = void (*)(std::byte const* packed, std::size_t count, std::byte* samples);

struct UnpackKernel {
    std::string_view name; // scalar, ssse3, avx2
    Unpack (*of)(Packing const& packing);
};

// Returns the kernels that this processor runs, the fastest one last. All of them give the same bytes.
std::vector<UnpackKernel> const& unpack_kernels();

// Returns the fastest function for this packing. Throws base::UsageError if the packing has no such number of bits.
Unpack unpack_of(Packing const& packing);

} // namespace thalweg::source::samples
