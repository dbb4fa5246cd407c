#include "thalweg/codec/kernel.h"

#include <bit>
#include <cstring>
#include <vector>

namespace thalweg::codec {
namespace {

static_assert(std::endian::native == std::endian::little, "the kernels take byte 0 as the lowest");

// Bit j of byte i becomes bit i of byte j: swap the corners of 2x2, 4x4 and 8x8 squares in turn.
std::uint64_t transpose_8x8(std::uint64_t x) {
    std::uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAu;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCu;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0u;
    return x ^ t ^ (t << 28);
}

void deinterleave(std::byte const* pairs, std::byte* first, std::byte* second, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        first[i] = pairs[2 * i];
        second[i] = pairs[2 * i + 1];
    }
}

void interleave(std::byte const* first, std::byte const* second, std::byte* pairs, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        pairs[2 * i] = first[i];
        pairs[2 * i + 1] = second[i];
    }
}

void split_bits(std::byte const* bytes, std::byte* planes, std::size_t stride, std::size_t groups) {
    for (std::size_t group = 0; group < groups; ++group) {
        std::uint64_t square;
        std::memcpy(&square, bytes + 8 * group, 8);
        square = transpose_8x8(square);
        for (std::size_t bit = 0; bit < 8; ++bit) planes[bit * stride + group] = std::byte(square >> (8 * bit));
    }
}

void join_bits(std::byte const* planes, std::size_t stride, std::byte* bytes, std::size_t groups) {
    for (std::size_t group = 0; group < groups; ++group) {
        std::uint64_t square = 0;
        for (std::size_t bit = 0; bit < 8; ++bit) {
            square |= std::to_integer<std::uint64_t>(planes[bit * stride + group]) << (8 * bit);
        }
        square = transpose_8x8(square);
        std::memcpy(bytes + 8 * group, &square, 8);
    }
}

void mark_repeats(std::byte const* bytes, std::size_t count, std::size_t distance, std::uint64_t* repeats) {
    for (std::size_t start = 0; start < count; start += 64) {
        std::uint64_t mask = 0;
        for (std::size_t i = 0; i < 64; ++i) {
            mask |= std::uint64_t(bytes[start + i] == *(bytes + start + i - distance)) << i;
        }
        repeats[start / 64] = mask;
    }
}

std::vector<Kernel const*> detect() {
    std::vector<Kernel const*> kernels = {&kScalarKernel};
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) kernels.push_back(&kAvx2Kernel);
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni")) {
        kernels.push_back(&kAvx512Kernel);
    }
#endif
    return kernels;
}

} // namespace

Kernel const kScalarKernel = {"scalar", deinterleave, interleave, split_bits, join_bits, mark_repeats};

std::span<Kernel const* const> usable_kernels() {
    static std::vector<Kernel const*> const kernels = detect();
    return kernels;
}

Kernel const& best_kernel() { return *usable_kernels().back(); }

} // namespace thalweg::codec
