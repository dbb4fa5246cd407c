#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "thalweg/source/samples/kernels.h"

namespace thalweg::source::samples {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kWordBytes = 8;

// Four samples lie in 5, 6 or 7 bytes, which one 64-bit word holds. Two steps spread them over the word's four 16-bit
// lanes: first to two halves of two samples each, then to single samples.
template <unsigned Bits, bool HighFirst, bool Signed> struct ScalarKernel {
    static constexpr std::size_t kGroupBytes = Bits / 2; // of four samples
    static constexpr std::uint64_t kOne = (std::uint64_t{1} << Bits) - 1;
    static constexpr std::uint64_t kPair = (std::uint64_t{1} << 2 * Bits) - 1;
    static constexpr std::uint64_t kBothOnes = kOne | kOne << 32;

    static std::uint64_t spread(std::uint64_t word) {
        std::uint64_t pairs, lanes;
        if constexpr (HighFirst) {
            word = __builtin_bswap64(word) >> (64 - 4 * Bits);
            pairs = (word >> 2 * Bits) | (word & kPair) << 32;
            lanes = (pairs >> Bits & kBothOnes) | (pairs & kBothOnes) << 16;
        } else {
            pairs = (word & kPair) | (word >> 2 * Bits & kPair) << 32;
            lanes = (pairs & kBothOnes) | (pairs >> Bits & kBothOnes) << 16;
        }
        if constexpr (Signed) { // each lane of a negative sample gets 2^16 - 2^Bits: no lane carries into the next one
            auto const signs = lanes & 0x0001'0001'0001'0001 << (Bits - 1);
            lanes |= (signs << (17 - Bits)) - (signs << 1);
        }
        return lanes;
    }

    static void run(std::byte const* packed, std::size_t count, std::byte* samples) {
        auto left_bytes = packed_bytes(Bits, count);
        std::uint64_t word = 0;
        for (; left_bytes >= kWordBytes; left_bytes -= kGroupBytes, packed += kGroupBytes) {
            if (count < 4) break; // only if there are bytes that no sample needs
            std::memcpy(&word, packed, kWordBytes);
            word = spread(word);
            std::memcpy(samples, &word, kWordBytes);
            samples += kWordBytes, count -= 4;
        }
        while (count > 0) { // what is left is less than a word, which would reach beyond the end
            auto const group = std::min<std::size_t>(count, 4);
            word = 0;
            std::memcpy(&word, packed, packed_bytes(Bits, group));
            word = spread(word);
            std::memcpy(samples, &word, 2 * group);
            packed += kGroupBytes, samples += kWordBytes, count -= group;
        }
    }
};

} // namespace

Unpack scalar_unpack(Packing const& packing) { return kernel_for<ScalarKernel>(packing); }

} // namespace thalweg::source::samples
