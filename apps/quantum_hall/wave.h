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

// Real and imaginary parts of a row are separate, so that the compiler generates wide instructions without shuffles.
// Each row is closed to a ring by a copy of its last value in front and of its first value behind. Rows -1 and rows()
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
    // Returns the distance to the next row in memory: the next sublattice, or the first one of the next row.
    std::int64_t row_distance() const { return 2 * stride_; }
    // Returns a row as one piece of memory, including its ends: that is what a neighbour gets.
    std::span<double> whole_row(int sublattice, std::int64_t row) const;
    void close_ring(int sublattice, std::int64_t row) const;

    void fill(Complex value);
    // Fills in phases exp(2 pi i u) of random vector `number`: <site|...|site> has modulus one, so the diagonal adds no
    // noise to a trace (T. Iitaka, T. Ebisuzaki, Phys. Rev. E 69, 057701 (2004)).
    void fill_random(System const& system, Strips const& strips, std::uint64_t number);
    void fill_site(System const& system, Strips const& strips, std::int64_t site);
    void copy_from(Wave const& other);
    void add(Complex factor, Wave const& other);

    // The order of files: by row, column and sublattice, real beside imaginary.
    std::vector<Complex> interleaved() const;
    void set_interleaved(std::span<Complex const> values);

    // Calls change(sublattice, column, row, re, im) for each value of the strip.
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

// Returns <left|right> over all ranks; needs no exchange.
Complex inner_product(Strips const& strips, Wave const& left, Wave const& right);

} // namespace quantum_hall
