// The lattices and the magnetic field: where electrons can hop, how far, and with which phase.
//
// Units: hbar = hopping = length of a bond = 1. A row is all sites of one sublattice with the same second index j.
// The Peierls phase is in a gauge in which it depends on the row alone, so nothing is stored for a bond
// (R. Peierls, Z. Phys. 80, 763 (1933); D. R. Hofstadter, Phys. Rev. B 14, 2239 (1976)).
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quantum_hall {

using Complex = std::complex<double>;

// A bond from site (from, i, j) to (to, i + columns, j + rows), with amplitude -exp(-2 pi i flux j) if it carries the
// phase, else -1. (x, y) is the vector from one site to the other. Each bond exists in the other direction, too.
struct Bond {
    int from, to;
    int columns, rows;
    bool carries_phase;
    double x, y;
};

struct Lattice {
    std::string name;
    int sublattices;
    double cell_area;
    double reach; // no energy of the clean lattice is farther from 0
    std::vector<Bond> bonds;
};

// Parses "honeycomb" or "square"; throws thalweg::base::UsageError for anything else.
Lattice const& lattice_named(std::string_view name);

// A torus of columns x rows cells in a field of `flux_quanta` / rows quanta a cell, with Anderson disorder: energies
// of sites drawn from [-disorder / 2, disorder / 2) (P. W. Anderson, Phys. Rev. 109, 1492 (1958)).
struct System {
    Lattice lattice;
    std::int64_t columns = 0;
    std::int64_t rows = 0;
    std::int64_t flux_quanta = 0;
    double disorder = 0;
    std::uint64_t seed = 1;

    std::int64_t sites() const { return columns * rows * lattice.sublattices; }
    double area() const { return lattice.cell_area * static_cast<double>(columns * rows); }
    std::int64_t site(int sublattice, std::int64_t column, std::int64_t row) const {
        return lattice.sublattices * (row * columns + column) + sublattice;
    }
    Complex phase(std::int64_t row) const; // exp(-2 pi i flux row), for any integer
    double potential(std::int64_t site) const;
    // Energies divided by this lie within (-1, 1), the domain of Chebyshev polynomials, with 2 % to spare.
    double half_width() const { return 1.02 * (lattice.reach + disorder / 2); }
};

} // namespace quantum_hall
