#include "hamiltonian.h"

#include <algorithm>
#include <array>

namespace quantum_hall {

namespace {

constexpr Complex kI{0, 1};
constexpr int kBondsWithoutPhase = 2; // bonds that end in a site, on both lattices

// Multiplies the hops (-1) of each bond by `along(bond)`, and those in the other direction also by `sign`.
template <class Along> Operator of_bonds(System const& system, double sign, Along const& along) {
    Operator result;
    for (auto const& bond : system.lattice.bonds) {
        result.along.push_back(-along(bond));
        result.against.push_back(-sign * along(bond));
    }
    return result;
}

} // namespace

Operator scaled(System const& system, double factor) {
    auto result = of_bonds(system, 1, [&](Bond const&) { return Complex(factor / system.half_width()); });
    result.diagonal = factor;
    return result;
}

Operator velocity(System const& system, int axis) {
    return of_bonds(system, -1, [&](Bond const& bond) { return -kI * (axis == 0 ? bond.x : bond.y); });
}

Operator commutator(System const& system, double factor) {
    return of_bonds(system, -1, [&](Bond const& bond) { return Complex(bond.x * factor / system.half_width()); });
}

std::vector<Hop> hops_into(Lattice const& lattice, int sublattice) {
    std::vector<Hop> hops;
    for (std::size_t number = 0; number < lattice.bonds.size(); ++number) {
        auto const& bond = lattice.bonds[number];
        // A bond has the phase of the row where it begins.
        if (bond.to == sublattice) hops.push_back({number, true, bond.from, -bond.rows, -bond.columns, -bond.rows});
        if (bond.from == sublattice) hops.push_back({number, false, bond.to, bond.rows, bond.columns, 0});
    }
    return hops;
}

Hamiltonian::Hamiltonian(System const& system, Strips& strips)
    : system_(system), strips_(strips), twice_(scaled(system, 2)) {
    for (int s = 0; s < system_.lattice.sublattices; ++s) {
        auto& hops = hops_.emplace_back(hops_into(system_.lattice, s));
        std::ranges::stable_partition(hops,
                                      [&](Hop const& hop) { return !system_.lattice.bonds[hop.bond].carries_phase; });
    }
    for (std::int64_t j = -1; j <= strips_.rows(); ++j) phases_.push_back(system_.phase(strips_.first_row() + j));
    auto const sites = strips_.rows() * system_.columns * system_.lattice.sublattices;
    energies_ = allocate(static_cast<std::size_t>(sites));
    auto* energy = energies_.get();
    for (std::int64_t j = 0; j < strips_.rows(); ++j) {
        for (int s = 0; s < system_.lattice.sublattices; ++s) {
            for (std::int64_t i = 0; i < system_.columns; ++i) {
                auto const site = system_.site(s, i, strips_.first_row() + j);
                *energy++ = 2 * system_.potential(site) / system_.half_width();
            }
        }
    }
}

template <int kReal, Into kInto, bool kDiagonal>
Sums Hamiltonian::apply_row(Operator const& what, Wave const& source, Wave const& out, std::int64_t row) const {
    Sums sums;
    auto const columns = system_.columns;
    for (int s = 0; s < system_.lattice.sublattices; ++s) {
        std::array<Term, 4> terms{};
        auto const& hops = hops_[static_cast<std::size_t>(s)];
        for (std::size_t k = 0; k < hops.size(); ++k) {
            auto const& hop = hops[k];
            auto coefficient = hop.along ? what.along[hop.bond] : what.against[hop.bond];
            if (system_.lattice.bonds[hop.bond].carries_phase) {
                auto const turn = phase(row + hop.phase);
                coefficient *= hop.along ? turn : std::conj(turn);
            }
            auto const from = source.row(hop.source, row + hop.row);
            terms[k] = {from.re + hop.column, from.im + hop.column, coefficient.real(), coefficient.imag()};
        }
        auto const* const energies = energies_.get() + (row * system_.lattice.sublattices + s) * columns;
        auto const to = out.row(s, row), centre = source.row(s, row);
        auto const combined = [&]<int kTerms>() {
            Combination<kReal, kTerms, kInto, kDiagonal> all{to, {}, centre, energies, what.diagonal / 2};
            std::copy_n(terms.begin(), kTerms, all.terms.begin());
            return combine(all, columns, source.row_distance());
        };
        auto const part = hops.size() == 3 ? combined.template operator()<3>() : combined.template operator()<4>();
        out.close_ring(s, row);
        sums.norm += part.norm;
        sums.overlap += part.overlap;
    }
    return sums;
}

template <int kReal, Into kInto, bool kDiagonal>
Sums Hamiltonian::apply_to(Operator const& what, Wave& source, Wave& out) const {
    Sums sums;
    auto const work = [&](std::int64_t row) {
        auto const part = apply_row<kReal, kInto, kDiagonal>(what, source, out, row);
        sums.norm += part.norm;
        sums.overlap += part.overlap;
    };
    // Only the rows at both ends wait for the neighbours.
    auto const last = strips_.rows() - 1;
    strips_.begin_exchange(source);
    for (std::int64_t row = 1; row < last; ++row) work(row);
    strips_.end_exchange();
    work(0);
    if (last > 0) work(last);
    return sums;
}

Sums Hamiltonian::apply(Operator const& what, Wave& source, Wave& out) const {
    return apply_to<0, Into::replace, true>(what, source, out);
}

Sums Hamiltonian::add(Operator const& what, Wave& source, Wave& out) const {
    return apply_to<0, Into::add, false>(what, source, out);
}

Sums Hamiltonian::recur(Wave& source, Wave& out) const {
    return apply_to<kBondsWithoutPhase, Into::recur, true>(twice_, source, out);
}

} // namespace quantum_hall
