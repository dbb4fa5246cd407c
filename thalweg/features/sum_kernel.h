// The inner loops of the features of pulses, once for each instruction set. All give the same integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace thalweg::features {

// How the bits of a sample become a signed level that rises with the pulse: level = sample XOR mask.
constexpr std::uint16_t level_mask(bool is_signed, bool is_negative) {
    auto const bias = static_cast<std::uint16_t>(is_signed ? 0 : 0x8000);
    return static_cast<std::uint16_t>(is_negative ? bias ^ 0xFFFF : bias);
}
inline std::int32_t level_of(std::uint16_t sample, std::uint16_t mask) {
    return static_cast<std::int16_t>(sample ^ mask);
}

// So many sums before an index are compared with the one there.
inline constexpr std::size_t kRiseBlocks = 3;
inline constexpr unsigned kLargestShift = 12;

struct SumKernel {
    std::string_view name;
    // Writes the sums of the levels of `blocks` blocks of 2^shift samples (shift <= kLargestShift), and returns the
    // largest level, or -32768 if there are no blocks.
    std::int32_t (*sum_blocks)(std::uint16_t const* samples, std::size_t blocks, unsigned shift, std::uint16_t mask,
                               std::int32_t* sums);
    // Returns the first index of [from, end) whose sum is more than `limit` above the least of the kRiseBlocks sums
    // before it, or `end`. These must be there for `from`, too. No two sums may differ by more than fits in 32 bits.
    std::size_t (*find_rise)(std::int32_t const* sums, std::size_t from, std::size_t end, std::int32_t limit);
};

// What this processor runs, the fastest one last; the scalar one is always there.
std::span<SumKernel const> sum_kernels();

extern SumKernel const kScalarSums;
#if defined(__x86_64__)
extern SumKernel const kAvx2Sums;
#endif

} // namespace thalweg::features
