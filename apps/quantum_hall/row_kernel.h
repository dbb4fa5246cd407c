// The innermost loop: one row of a sum of neighbours. All operators and both lattices use this loop.
#pragma once

#include <array>
#include <cstdint>

#include "wave.h"

namespace quantum_hall {

// A term coefficient * source[i]; `source` already points at the neighbour of site 0.
struct Term {
    double const* re;
    double const* im;
    double c, d; // the coefficient, c + i d
};

// The sums <out|out> and Re <out|centre> of the row that was computed, with the row it was computed from.
struct Sums {
    double norm = 0;
    double overlap = 0;
};

enum class Into { replace, add, recur };

// Eight numbers, and their form in memory at any address.
using Wide = double __attribute__((vector_size(64)));
template <class Value> struct InMemory { using type = Value; };
template <> struct InMemory<Wide> { using type = double __attribute__((vector_size(64), aligned(8), may_alias)); };

template <class Value> Value load(double const* place) {
    return *reinterpret_cast<typename InMemory<Value>::type const*>(place);
}
template <class Value> void store(double* place, Value value) {
    *reinterpret_cast<typename InMemory<Value>::type*>(place) = value;
}

// Computes out = sum of terms + scale * diagonal * centre; or adds that to `out`; or, for the recurrence T_{m+1} = 2 h
// T_m - T_{m-1}, subtracts what was in `out`, without the scale. The first kReal terms have real coefficients.
template <int kReal, int kTerms, Into kInto, bool kDiagonal> struct Combination {
    Row out;
    std::array<Term, kTerms> terms;
    Row centre;
    double const* diagonal;
    double scale;

    // Computes the value at `i`, for one site or eight, and adds to <out|out> and Re <out|centre>. Each multiplication
    // is written together with its addition, because they are one instruction: 14 per site for the Hamiltonian of the
    // honeycomb.
    template <class Value> void work(std::int64_t i, Value& norm, Value& overlap) const {
        Value x{}, y{};
        if constexpr (kInto == Into::recur) x = -load<Value>(out.re + i), y = -load<Value>(out.im + i);
        if constexpr (kInto == Into::add) x = load<Value>(out.re + i), y = load<Value>(out.im + i);
#pragma GCC unroll 4
        for (int k = 0; k < kTerms; ++k) {
            Value const re = load<Value>(terms[k].re + i);
            Value const im = load<Value>(terms[k].im + i);
            x += terms[k].c * re;
            y += terms[k].c * im;
            if (k < kReal) continue;
            x -= terms[k].d * im;
            y += terms[k].d * re;
        }
        Value const u = load<Value>(centre.re + i);
        Value const v = load<Value>(centre.im + i);
        if constexpr (kDiagonal) {
            Value energy = load<Value>(diagonal + i);
            if constexpr (kInto != Into::recur) energy *= scale;
            x += energy * u;
            y += energy * v;
        }
        norm += x * x;
        norm += y * y;
        overlap += x * u;
        overlap += y * v;
        store(out.re + i, x);
        store(out.im + i, y);
    }
};

// Computes a whole row. In the recurrence a site moves 56 bytes between memory and caches: centre 16, out 2 * 16,
// diagonal 8; other neighbours are in the cache. Rows are too short for the processor to notice that the next one
// follows, so the data of the next row are prefetched here: they begin `ahead` numbers further on, for the diagonal
// `columns`.
template <int kReal, int kTerms, Into kInto, bool kDiagonal>
Sums combine(Combination<kReal, kTerms, kInto, kDiagonal> const row, std::int64_t columns, std::int64_t ahead) {
    constexpr std::int64_t width = sizeof(Wide) / sizeof(double);
    Wide norms{}, overlaps{};
    std::int64_t i = 0;
    for (; i + width <= columns; i += width) {
        __builtin_prefetch(row.out.re + i + ahead, 1);
        __builtin_prefetch(row.out.im + i + ahead, 1);
        __builtin_prefetch(row.diagonal + i + columns);
        __builtin_prefetch(row.centre.re + i + 2 * ahead); // the row in between is a neighbour of this one
        __builtin_prefetch(row.centre.im + i + 2 * ahead);
        row.work(i, norms, overlaps);
    }
    Sums sums;
    for (std::int64_t lane = 0; lane < width; ++lane) sums.norm += norms[lane], sums.overlap += overlaps[lane];
    for (; i < columns; ++i) row.work(i, sums.norm, sums.overlap);
    return sums;
}

} // namespace quantum_hall
