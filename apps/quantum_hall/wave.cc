#include "wave.h"

#include <algorithm>
#include <array>
#include <numbers>

#include "random.h"

namespace quantum_hall {

namespace {

// Rows start at multiples of a cache line, and at different places of a page.
std::int64_t stride_for(std::int64_t columns) {
    auto const stride = (columns + 9 + 7) / 8 * 8;
    return stride % 512 == 0 ? stride + 8 : stride;
}

} // namespace

Wave::Wave(System const& system, Strips const& strips)
    : sublattices_(system.lattice.sublattices), columns_(system.columns), rows_(strips.rows()),
      stride_(stride_for(columns_)), size_(static_cast<std::size_t>((rows_ + 2) * sublattices_ * 2 * stride_)),
      memory_(allocate(size_)) {}

std::span<double> Wave::whole_row(int sublattice, std::int64_t row) const {
    return {this->row(sublattice, row).re - kFront, static_cast<std::size_t>(2 * stride_)};
}

void Wave::close_ring(int sublattice, std::int64_t row) const {
    auto const values = this->row(sublattice, row);
    for (auto* part : {values.re, values.im}) {
        part[-1] = part[columns_ - 1];
        part[columns_] = part[0];
    }
}

void Wave::fill(Complex value) {
    for_each([&](int, std::int64_t, std::int64_t, double& re, double& im) { re = value.real(), im = value.imag(); });
    for (std::int64_t j = 0; j < rows_; ++j) {
        for (int s = 0; s < sublattices_; ++s) close_ring(s, j);
    }
}

void Wave::fill_random(System const& system, Strips const& strips, std::uint64_t number) {
    auto const seed = seed_of_vector(system.seed, number);
    for_each([&](int s, std::int64_t i, std::int64_t j, double& re, double& im) {
        auto const site = static_cast<std::uint64_t>(system.site(s, i, strips.first_row() + j));
        auto const value = std::polar(1.0, 2 * std::numbers::pi * uniform(seed, site));
        re = value.real(), im = value.imag();
    });
    for (std::int64_t j = 0; j < rows_; ++j) {
        for (int s = 0; s < sublattices_; ++s) close_ring(s, j);
    }
}

void Wave::fill_site(System const& system, Strips const& strips, std::int64_t site) {
    fill(0);
    for_each([&](int s, std::int64_t i, std::int64_t j, double& re, double&) {
        if (system.site(s, i, strips.first_row() + j) != site) return;
        re = 1;
        close_ring(s, j);
    });
}

void Wave::copy_from(Wave const& other) { std::copy_n(other.memory_.get(), size_, memory_.get()); }

void Wave::add(Complex factor, Wave const& other) {
    auto const c = factor.real(), d = factor.imag();
    for (std::int64_t j = 0; j < rows_; ++j) {
        for (int s = 0; s < sublattices_; ++s) {
            auto const to = row(s, j), from = other.row(s, j);
#pragma omp simd
            for (std::int64_t i = 0; i < columns_; ++i) {
                to.re[i] += c * from.re[i] - d * from.im[i];
                to.im[i] += c * from.im[i] + d * from.re[i];
            }
            close_ring(s, j);
        }
    }
}

std::vector<Complex> Wave::interleaved() const {
    std::vector<Complex> values(static_cast<std::size_t>(rows_ * columns_ * sublattices_));
    for_each([&](int s, std::int64_t i, std::int64_t j, double re, double im) {
        values[static_cast<std::size_t>((j * columns_ + i) * sublattices_ + s)] = {re, im};
    });
    return values;
}

void Wave::set_interleaved(std::span<Complex const> values) {
    for_each([&](int s, std::int64_t i, std::int64_t j, double& re, double& im) {
        auto const value = values[static_cast<std::size_t>((j * columns_ + i) * sublattices_ + s)];
        re = value.real(), im = value.imag();
    });
    for (std::int64_t j = 0; j < rows_; ++j) {
        for (int s = 0; s < sublattices_; ++s) close_ring(s, j);
    }
}

Complex inner_product(Strips const& strips, Wave const& left, Wave const& right) {
    std::array<double, 2> sums{};
    for (std::int64_t j = 0; j < left.rows(); ++j) {
        for (int s = 0; s < left.sublattices(); ++s) {
            auto const a = left.row(s, j), b = right.row(s, j);
            double re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
            for (std::int64_t i = 0; i < left.columns(); ++i) {
                re += a.re[i] * b.re[i] + a.im[i] * b.im[i];
                im += a.re[i] * b.im[i] - a.im[i] * b.re[i];
            }
            sums[0] += re, sums[1] += im;
        }
    }
    strips.sum(sums);
    return {sums[0], sums[1]};
}

} // namespace quantum_hall
