// The innermost loop: one row of a sum of neighbours. All operators and both lattices are this one loop.
#pragma once

#include <cstdint>

#include "wave.h"

namespace quantum_hall {

// coefficient * source[i], where `source` already points at the neighbour of site 0.
struct Term {
    double const* re;
    double const* im;
    double c, d; // the coefficient, c + i d
};

// Of the row that was computed, with the row it was computed from: <out|out> and Re <out|centre>.
struct Sums {
    double norm = 0;
    double overlap = 0;
};

enum class Into { replace, add, recur };

// out = sum of terms + scale * diagonal * centre; or that added to `out`; or, for the recurrence
// T_{m+1} = 2 h T_m - T_{m-1}, that minus what was in `out`. Each site moves 56 bytes then: centre 16, out 2 * 16,
// diagonal 8; neighbours come from the cache.
template <int kTerms, Into kInto, bool kDiagonal>
inline Sums combine(Row out, Term const* terms, Row centre, double const* __restrict diagonal, double scale,
                    std::int64_t columns) {
    double const* re[kTerms];
    double const* im[kTerms];
    double c[kTerms], d[kTerms];
    for (int k = 0; k < kTerms; ++k) re[k] = terms[k].re, im[k] = terms[k].im, c[k] = terms[k].c, d[k] = terms[k].d;
    double norm = 0, overlap = 0;
#pragma omp simd reduction(+ : norm, overlap)
    for (std::int64_t i = 0; i < columns; ++i) {
        double x = 0, y = 0;
#pragma GCC unroll 4
        for (int k = 0; k < kTerms; ++k) {
            x += c[k] * re[k][i] - d[k] * im[k][i];
            y += c[k] * im[k][i] + d[k] * re[k][i];
        }
        auto const u = centre.re[i], v = centre.im[i];
        if constexpr (kDiagonal) {
            auto const energy = scale * diagonal[i];
            x += energy * u;
            y += energy * v;
        }
        if constexpr (kInto == Into::recur) x -= out.re[i], y -= out.im[i];
        if constexpr (kInto == Into::add) x += out.re[i], y += out.im[i];
        norm += x * x + y * y;
        overlap += x * u + y * v;
        out.re[i] = x;
        out.im[i] = y;
    }
    return {norm, overlap};
}

} // namespace quantum_hall
