// A wave function on one strip of rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lattice.h"
#include "memory.h"
#include "strips.h"

namespace quantum_hall {

struct Row {
    double* re;
    double* im;
};

// Real and imaginary parts of a row lie apart, which the compiler turns into wide instructions without shuffles, and
// each row is closed to a ring by a copy of its last value in front and of its first one behind. Rows -1 and rows()
// belong to the neighbours.
class Wave {
  public:
    explicit Wave(System const& system, Strips const& strips);

    Row row(int sublattice, std::int64_t row) const {
        auto* const re = memory_.get() + static_cast<std::size_t>((row + 1) * sublattices_ + sublattice) * 2 * stride_;
        return {re + kFront, re + stride_ + kFront};
    }
    std::int64_t columns() const { return columns_; }
    std::int64_t rows() const { return rows_; }
    int sublattices() const { return sublattices_; }
    // From a row to the next one in memory: the next sublattice, or the first one of the next row.
    std::int64_t row_distance() const { return 2 * stride_; }
    // A row as one piece of memory, with its ends: what goes to a neighbour.
    std::span<double> whole_row(int sublattice, std::int64_t row) const;
    void close_ring(int sublattice, std::int64_t row) const;

    void fill(Complex value);
    // Phases exp(2 pi i u) of random vector `number`: <site|...|site> has modulus one, so a trace has no noise from
    // its diagonal (T. Iitaka, T. Ebisuzaki, Phys. Rev. E 69, 057701 (2004)).
    void fill_random(System const& system, Strips const& strips, std::uint64_t number);
    void fill_site(System const& system, Strips const& strips, std::int64_t site);
    void copy_from(Wave const& other);
    void add(Complex factor, Wave const& other);

    // As files have it: by row, column and sublattice, real beside imaginary.
    std::vector<Complex> interleaved() const;
    void set_interleaved(std::span<Complex const> values);

    // Each value of the strip: change(sublattice, column, row, re, im).
    template <class Change> void for_each(Change const& change) const {
        for (std::int64_t j = 0; j < rows_; ++j) {
            for (int s = 0; s < sublattices_; ++s) {
                auto const values = row(s, j);
                for (std::int64_t i = 0; i < columns_; ++i) change(s, i, j, values.re[i], values.im[i]);
            }
        }
    }

  private:
    static constexpr std::int64_t kFront = 8; // keeps rows at multiples of a cache line

    int sublattices_;
    std::int64_t columns_, rows_;
    std::int64_t stride_;
    std::size_t size_;
    Memory memory_;
};

// <left|right>, of all ranks; needs no exchange.
Complex inner_product(Strips const& strips, Wave const& left, Wave const& right);

} // namespace quantum_hall
