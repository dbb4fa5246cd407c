#include "thalweg/codec/kernel.h"

#if defined(__x86_64__)
#include <array>
#include <immintrin.h>

// The intrinsics of g++ 12 are full of registers that are left undefined on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#define THALWEG_AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,gfni")))

namespace thalweg::codec {
namespace {

using Bytes64 = std::array<std::uint8_t, 64>;

// Returns, for each byte of a register, the byte that comes to its place if the register is transposed as an 8x8 square
// of bytes. With `reversed`, the bytes of each row then stand in reverse order.
constexpr Bytes64 transposition(bool reversed) {
    Bytes64 from{};
    for (unsigned i = 0; i < 64; ++i) {
        unsigned const column = reversed ? 7 - i % 8 : i % 8;
        from[i] = static_cast<std::uint8_t>(8 * column + i / 8);
    }
    return from;
}

constexpr Bytes64 reversed_rows() {
    Bytes64 from{};
    for (unsigned i = 0; i < 64; ++i) from[i] = static_cast<std::uint8_t>(i % 16 / 8 * 8 + 7 - i % 8);
    return from;
}

// 16 elements of four bytes into four runs of 16, or back.
constexpr Bytes64 runs_of_16(bool back) {
    Bytes64 from{};
    for (unsigned i = 0; i < 64; ++i) {
        from[i] = static_cast<std::uint8_t>(back ? i % 4 * 16 + i / 4 : i % 16 * 4 + i / 16);
    }
    return from;
}

alignas(64) constexpr Bytes64 kRunsOf16 = runs_of_16(false);
alignas(64) constexpr Bytes64 kElementsOf4 = runs_of_16(true);
alignas(64) constexpr Bytes64 kTransposed = transposition(false);
alignas(64) constexpr Bytes64 kTransposedReversed = transposition(true);
alignas(64) constexpr Bytes64 kReversedRows = reversed_rows();
constexpr long long kUnitSquare = static_cast<long long>(0x8040201008040201u);

THALWEG_AVX512 inline __m512i load(void const* from) { return _mm512_loadu_si512(from); }
THALWEG_AVX512 inline void store(void* to, __m512i value) { _mm512_storeu_si512(to, value); }

THALWEG_AVX512 void deinterleave(std::byte const* pairs, std::byte* first, std::byte* second, std::size_t count) {
    __m512i const low = _mm512_set1_epi16(0x00FF);
    __m512i const order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7); // packing works within quarters
    std::size_t i = 0;
    for (; i + 64 <= count; i += 64) {
        __m512i const a = load(pairs + 2 * i);
        __m512i const b = load(pairs + 2 * i + 64);
        __m512i const firsts = _mm512_packus_epi16(_mm512_and_si512(a, low), _mm512_and_si512(b, low));
        __m512i const seconds = _mm512_packus_epi16(_mm512_srli_epi16(a, 8), _mm512_srli_epi16(b, 8));
        store(first + i, _mm512_permutexvar_epi64(order, firsts));
        store(second + i, _mm512_permutexvar_epi64(order, seconds));
    }
    kScalarKernel.deinterleave(pairs + 2 * i, first + i, second + i, count - i);
}

THALWEG_AVX512 void interleave(std::byte const* first, std::byte const* second, std::byte* pairs, std::size_t count) {
    __m512i const order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    std::size_t i = 0;
    for (; i + 64 <= count; i += 64) {
        __m512i const a = _mm512_permutexvar_epi64(order, load(first + i));
        __m512i const b = _mm512_permutexvar_epi64(order, load(second + i));
        store(pairs + 2 * i, _mm512_unpacklo_epi8(a, b));
        store(pairs + 2 * i + 64, _mm512_unpackhi_epi8(a, b));
    }
    kScalarKernel.interleave(first + i, second + i, pairs + 2 * i, count - i);
}

// Eight registers as an 8x8 square of 8-byte words.
THALWEG_AVX512 inline void transpose_words(__m512i (&rows)[8]) {
    __m512i low[4], high[4]; // words 0 2 4 6 and 1 3 5 7 of two rows each
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
        low[i] = _mm512_unpacklo_epi64(rows[2 * i], rows[2 * i + 1]);
        high[i] = _mm512_unpackhi_epi64(rows[2 * i], rows[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int odd = 0; odd < 2; ++odd) {
        __m512i const* const from = odd ? high : low;
        __m512i const a = _mm512_shuffle_i64x2(from[0], from[1], 0x88);
        __m512i const b = _mm512_shuffle_i64x2(from[2], from[3], 0x88);
        __m512i const c = _mm512_shuffle_i64x2(from[0], from[1], 0xDD);
        __m512i const d = _mm512_shuffle_i64x2(from[2], from[3], 0xDD);
        rows[odd] = _mm512_shuffle_i64x2(a, b, 0x88);
        rows[odd + 2] = _mm512_shuffle_i64x2(c, d, 0x88);
        rows[odd + 4] = _mm512_shuffle_i64x2(a, b, 0xDD);
        rows[odd + 6] = _mm512_shuffle_i64x2(c, d, 0xDD);
    }
}

// Four registers as a 4x4 square of 16-byte runs.
THALWEG_AVX512 inline void transpose_runs(__m512i (&rows)[4]) {
    __m512i const a = _mm512_shuffle_i64x2(rows[0], rows[1], 0x88); // runs 0 and 2 of both
    __m512i const b = _mm512_shuffle_i64x2(rows[2], rows[3], 0x88);
    __m512i const c = _mm512_shuffle_i64x2(rows[0], rows[1], 0xDD);
    __m512i const d = _mm512_shuffle_i64x2(rows[2], rows[3], 0xDD);
    rows[0] = _mm512_shuffle_i64x2(a, b, 0x88);
    rows[1] = _mm512_shuffle_i64x2(c, d, 0x88);
    rows[2] = _mm512_shuffle_i64x2(a, b, 0xDD);
    rows[3] = _mm512_shuffle_i64x2(c, d, 0xDD);
}

THALWEG_AVX512 inline void transpose_rows(__m512i (&rows)[4]) { transpose_runs(rows); }
THALWEG_AVX512 inline void transpose_rows(__m512i (&rows)[8]) { transpose_words(rows); }

// 64 elements fill as many registers as an element has bytes, and so do 64 bytes of each run.
template <int size>
THALWEG_AVX512 void split_elements_of(std::byte const* elements, std::byte* runs, std::size_t stride,
                                      std::size_t count) {
    __m512i const order = load(size == 4 ? kRunsOf16.data() : kTransposed.data());
    for (std::size_t at = 0; at < count; at += 64) {
        __m512i rows[size];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < size; ++i)
            rows[i] = _mm512_permutexvar_epi8(order, load(elements + size * at + 64 * i));
        transpose_rows(rows);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < size; ++i) store(runs + i * stride + at, rows[i]);
    }
}

template <int size>
THALWEG_AVX512 void join_elements_of(std::byte const* runs, std::size_t stride, std::byte* elements,
                                     std::size_t count) {
    __m512i const order = load(size == 4 ? kElementsOf4.data() : kTransposed.data());
    for (std::size_t at = 0; at < count; at += 64) {
        __m512i rows[size];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < size; ++i) rows[i] = load(runs + i * stride + at);
        transpose_rows(rows);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < size; ++i)
            store(elements + size * at + 64 * i, _mm512_permutexvar_epi8(order, rows[i]));
    }
}

void split_elements(std::byte const* elements, std::byte* runs, std::size_t stride, std::size_t size,
                    std::size_t count) {
    size == 4 ? split_elements_of<4>(elements, runs, stride, count)
              : split_elements_of<8>(elements, runs, stride, count);
}

void join_elements(std::byte const* runs, std::size_t stride, std::byte* elements, std::size_t size,
                   std::size_t count) {
    size == 4 ? join_elements_of<4>(runs, stride, elements, count) : join_elements_of<8>(runs, stride, elements, count);
}

// Multiplying the unit matrix over GF(2) by a square of bits, rows reversed, gives its transpose.
THALWEG_AVX512 inline __m512i transpose_reversed_8x8(__m512i squares) {
    return _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64(kUnitSquare), squares, 0);
}

THALWEG_AVX512 void split_bits(std::byte const* bytes, std::byte* planes, std::size_t stride, std::size_t groups) {
    __m512i const reversed = load(kReversedRows.data());
    __m512i const transposed = load(kTransposed.data());
    std::size_t group = 0;
    for (; group + 64 <= groups; group += 64) {
        __m512i rows[8];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) {
            __m512i const squares = _mm512_shuffle_epi8(load(bytes + 8 * group + 64 * i), reversed);
            rows[i] = _mm512_permutexvar_epi8(transposed, transpose_reversed_8x8(squares));
        }
        transpose_words(rows);
#pragma GCC unroll 8
        for (std::size_t bit = 0; bit < 8; ++bit) store(planes + bit * stride + group, rows[bit]);
    }
    kAvx2Kernel.split_bits(bytes + 8 * group, planes + group, stride, groups - group);
}

THALWEG_AVX512 void join_bits(std::byte const* planes, std::size_t stride, std::byte* bytes, std::size_t groups) {
    __m512i const transposed = load(kTransposedReversed.data());
    std::size_t group = 0;
    for (; group + 64 <= groups; group += 64) {
        __m512i rows[8];
#pragma GCC unroll 8
        for (std::size_t bit = 0; bit < 8; ++bit) rows[bit] = load(planes + bit * stride + group);
        transpose_words(rows);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) {
            __m512i const squares = _mm512_permutexvar_epi8(transposed, rows[i]);
            store(bytes + 8 * group + 64 * i, transpose_reversed_8x8(squares));
        }
    }
    kAvx2Kernel.join_bits(planes + group, stride, bytes + 8 * group, groups - group);
}

THALWEG_AVX512 void mark_repeats(std::byte const* bytes, std::size_t count, std::size_t distance,
                                 std::uint64_t* repeats) {
    for (std::size_t i = 0; i < count; i += 64) {
        repeats[i / 64] = _mm512_cmpeq_epi8_mask(load(bytes + i), load(bytes + i - distance));
    }
}

} // namespace

Kernel const kAvx512Kernel = {"avx512",  deinterleave, interleave,     split_bits,
                              join_bits, mark_repeats, split_elements, join_elements};

} // namespace thalweg::codec
#endif
