#include "thalweg/codec/kernel.h"

#if defined(__x86_64__)
#include <cstring>
#include <immintrin.h>

#define THALWEG_AVX2 __attribute__((target("avx2")))

namespace thalweg::codec {
namespace {

THALWEG_AVX2 inline __m256i load(std::byte const* from) {
    return _mm256_loadu_si256(reinterpret_cast<__m256i const*>(from));
}

THALWEG_AVX2 inline void store(std::byte* to, __m256i value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}

THALWEG_AVX2 inline void store_half(std::byte* to, __m128i value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}

THALWEG_AVX2 void deinterleave(std::byte const* pairs, std::byte* first, std::byte* second, std::size_t count) {
    __m256i const low = _mm256_set1_epi16(0x00FF);
    std::size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        __m256i const a = load(pairs + 2 * i);
        __m256i const b = load(pairs + 2 * i + 32);
        __m256i const firsts = _mm256_packus_epi16(_mm256_and_si256(a, low), _mm256_and_si256(b, low));
        __m256i const seconds = _mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));
        store(first + i, _mm256_permute4x64_epi64(firsts, 0xD8)); // packing works within halves: 0 2 1 3
        store(second + i, _mm256_permute4x64_epi64(seconds, 0xD8));
    }
    kScalarKernel.deinterleave(pairs + 2 * i, first + i, second + i, count - i);
}

THALWEG_AVX2 void interleave(std::byte const* first, std::byte const* second, std::byte* pairs, std::size_t count) {
    std::size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        __m256i const a = _mm256_permute4x64_epi64(load(first + i), 0xD8);
        __m256i const b = _mm256_permute4x64_epi64(load(second + i), 0xD8);
        store(pairs + 2 * i, _mm256_unpacklo_epi8(a, b));
        store(pairs + 2 * i + 32, _mm256_unpackhi_epi8(a, b));
    }
    kScalarKernel.interleave(first + i, second + i, pairs + 2 * i, count - i);
}

// One movemask takes the highest bit of 32 bytes; doubling brings the next one up.
THALWEG_AVX2 void split_bits(std::byte const* bytes, std::byte* planes, std::size_t stride, std::size_t groups) {
    std::size_t group = 0;
    for (; group + 4 <= groups; group += 4) {
        __m256i value = load(bytes + 8 * group);
#pragma GCC unroll 8
        for (std::size_t bit = 8; bit-- > 0;) {
            int const mask = _mm256_movemask_epi8(value);
            std::memcpy(planes + bit * stride + group, &mask, 4);
            value = _mm256_add_epi8(value, value);
        }
    }
    kScalarKernel.split_bits(bytes + 8 * group, planes + group, stride, groups - group);
}

THALWEG_AVX2 inline __m256i swap_corners(__m256i x, int shift, __m256i corners) {
    __m256i const t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, shift)), corners);
    return _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64(t, shift)));
}

// As in the scalar kernel, four squares at once.
THALWEG_AVX2 inline __m256i transpose_8x8(__m256i x) {
    x = swap_corners(x, 7, _mm256_set1_epi64x(0x00AA00AA00AA00AA));
    x = swap_corners(x, 14, _mm256_set1_epi64x(0x0000CCCC0000CCCC));
    return swap_corners(x, 28, _mm256_set1_epi64x(0x00000000F0F0F0F0));
}

// Interleaving three times puts the eight bytes of a group side by side; the halves of a register are 16 groups apart.
THALWEG_AVX2 void join_32_groups(std::byte const* planes, std::size_t stride, std::byte* bytes) {
    __m256i even[8], odd[8];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
        __m256i const a = load(planes + 2 * i * stride);
        __m256i const b = load(planes + (2 * i + 1) * stride);
        even[2 * i] = _mm256_unpacklo_epi8(a, b);
        even[2 * i + 1] = _mm256_unpackhi_epi8(a, b);
    }
#pragma GCC unroll 2
    for (std::size_t i = 0; i < 2; ++i) {
#pragma GCC unroll 2
        for (std::size_t half = 0; half < 2; ++half) {
            odd[4 * i + 2 * half] = _mm256_unpacklo_epi16(even[4 * i + half], even[4 * i + half + 2]);
            odd[4 * i + 2 * half + 1] = _mm256_unpackhi_epi16(even[4 * i + half], even[4 * i + half + 2]);
        }
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
        even[2 * i] = _mm256_unpacklo_epi32(odd[i], odd[i + 4]);
        even[2 * i + 1] = _mm256_unpackhi_epi32(odd[i], odd[i + 4]);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
        __m256i const joined = transpose_8x8(even[i]);
        store_half(bytes + 16 * i, _mm256_castsi256_si128(joined));
        store_half(bytes + 16 * i + 128, _mm256_extracti128_si256(joined, 1));
    }
}

THALWEG_AVX2 void join_bits(std::byte const* planes, std::size_t stride, std::byte* bytes, std::size_t groups) {
    std::size_t group = 0;
    for (; group + 32 <= groups; group += 32) join_32_groups(planes + group, stride, bytes + 8 * group);
    kScalarKernel.join_bits(planes + group, stride, bytes + 8 * group, groups - group);
}

THALWEG_AVX2 inline std::uint32_t repeats_of_32(std::byte const* bytes, std::size_t distance) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(bytes), load(bytes - distance))));
}

THALWEG_AVX2 void mark_repeats(std::byte const* bytes, std::size_t count, std::size_t distance,
                               std::uint64_t* repeats) {
    for (std::size_t i = 0; i < count; i += 64) {
        repeats[i / 64] = repeats_of_32(bytes + i, distance) | std::uint64_t(repeats_of_32(bytes + i + 32, distance))
                                                                   << 32;
    }
}

} // namespace

Kernel const kAvx2Kernel = {"avx2", deinterleave, interleave, split_bits, join_bits, mark_repeats};

} // namespace thalweg::codec
#endif
