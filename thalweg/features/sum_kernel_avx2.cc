#include "thalweg/features/sum_kernel.h"

#if defined(__x86_64__)
#include <algorithm>
#include <array>
#include <bit>
#include <immintrin.h>

#define THALWEG_AVX2_SUMS __attribute__((target("avx2")))

namespace thalweg::features {
namespace {

constexpr std::size_t kLanes = 16; // samples in a vector

// The levels of some vectors, as eight sums of 32 bits.
template <std::size_t Vectors>
THALWEG_AVX2_SUMS inline __m256i sum_of(std::uint16_t const* samples, __m256i mask, __m256i& largest) {
    auto const ones = _mm256_set1_epi16(1);
    auto sum = _mm256_setzero_si256();
    for (std::size_t i = 0; i < Vectors; ++i) {
        auto const given = _mm256_loadu_si256(reinterpret_cast<__m256i const*>(samples + i * kLanes));
        auto const levels = _mm256_xor_si256(given, mask);
        largest = _mm256_max_epi16(largest, levels);
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(levels, ones));
    }
    return sum;
}

// Four blocks a step, since the sums across lanes cost less for four together.
template <std::size_t Vectors>
THALWEG_AVX2_SUMS std::size_t sum_fours(std::uint16_t const* samples, std::size_t blocks, __m256i mask,
                                        __m256i& largest, std::int32_t* sums) {
    constexpr auto kSize = Vectors * kLanes;
    std::size_t block = 0;
    for (; block + 4 <= blocks; block += 4, samples += 4 * kSize) {
        auto const first =
            _mm256_hadd_epi32(sum_of<Vectors>(samples, mask, largest), sum_of<Vectors>(samples + kSize, mask, largest));
        auto const second = _mm256_hadd_epi32(sum_of<Vectors>(samples + 2 * kSize, mask, largest),
                                              sum_of<Vectors>(samples + 3 * kSize, mask, largest));
        auto const halves = _mm256_hadd_epi32(first, second);
        auto const four = _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + block), four);
    }
    return block;
}

THALWEG_AVX2_SUMS std::int32_t avx2_sum_blocks(std::uint16_t const* samples, std::size_t blocks, unsigned shift,
                                               std::uint16_t mask, std::int32_t* sums) {
    auto const masks = _mm256_set1_epi16(static_cast<std::int16_t>(mask));
    auto largest = _mm256_set1_epi16(INT16_MIN);
    std::size_t done = 0;
    if (shift == 4) done = sum_fours<1>(samples, blocks, masks, largest, sums);
    if (shift == 5) done = sum_fours<2>(samples, blocks, masks, largest, sums);
    if (shift == 6) done = sum_fours<4>(samples, blocks, masks, largest, sums);
    std::array<std::int16_t, kLanes> of_lanes;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(of_lanes.data()), largest);
    std::int32_t const of_vectors = *std::max_element(of_lanes.begin(), of_lanes.end());
    auto const* rest = samples + (done << shift);
    return std::max(of_vectors, kScalarSums.sum_blocks(rest, blocks - done, shift, mask, sums + done));
}

THALWEG_AVX2_SUMS inline __m256i sums_at(std::int32_t const* sums) {
    return _mm256_loadu_si256(reinterpret_cast<__m256i const*>(sums));
}

THALWEG_AVX2_SUMS std::size_t avx2_find_rise(std::int32_t const* sums, std::size_t from, std::size_t end,
                                             std::int32_t limit) {
    static_assert(kRiseBlocks == 3, "three sums before each one");
    auto const limits = _mm256_set1_epi32(limit);
    auto i = from;
    for (; i + 8 <= end; i += 8) {
        auto const least =
            _mm256_min_epi32(_mm256_min_epi32(sums_at(sums + i - 3), sums_at(sums + i - 2)), sums_at(sums + i - 1));
        auto const rises = _mm256_cmpgt_epi32(_mm256_sub_epi32(sums_at(sums + i), least), limits);
        auto const found = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(rises)));
        if (found != 0) return i + static_cast<std::size_t>(std::countr_zero(found));
    }
    return kScalarSums.find_rise(sums, i, end, limit);
}

} // namespace

SumKernel const kAvx2Sums = {"avx2", avx2_sum_blocks, avx2_find_rise};

} // namespace thalweg::features
#endif
