// The tight-binding Hamiltonian, its velocities, and its commutator with the position.
#pragma once

#include <vector>

#include "lattice.h"
#include "row_kernel.h"
#include "strips.h"
#include "wave.h"

namespace quantum_hall {

// The amplitude of each bond, without its phase, in both directions, and the factor of the site energies.
struct Operator {
    std::vector<Complex> along, against;
    double diagonal = 0;
};

Operator scaled(System const& system, double factor);     // factor * h, h = H / half_width
Operator velocity(System const& system, int axis);        // v = i [H, r]: v_ba = -i H_ba d_ba, unscaled
Operator commutator(System const& system, double factor); // factor * [X, h], [X, h]_ba = d_ba h_ba

// A hop that ends in (sublattice, i, j): what one row of a sublattice gets from a neighbouring one.
struct Hop {
    std::size_t bond;
    bool along;
    int source;          // sublattice
    std::int64_t row;    // of the source, relative
    std::int64_t column; // of the source, relative
    std::int64_t phase;  // its phase is that of this row, relative
};
std::vector<Hop> hops_into(Lattice const& lattice, int sublattice);

class Hamiltonian {
  public:
    // Uses the strips for exchanges as long as this object is used.
    Hamiltonian(System const& system, Strips& strips);

    System const& system() const { return system_; }
    Strips& strips() const { return strips_; }

    // Apply the operator to `source`, add the result to `out` (operators without a diagonal), or compute 2 h source -
    // out, the step of a Chebyshev recurrence. `source` gets rows of the neighbours. The sums are those of this rank.
    Sums apply(Operator const& what, Wave& source, Wave& out) const;
    Sums add(Operator const& what, Wave& source, Wave& out) const;
    Sums recur(Wave& source, Wave& out) const;

  private:
    template <int kReal, Into kInto, bool kDiagonal>
    Sums apply_row(Operator const& what, Wave const& source, Wave const& out, std::int64_t row) const;
    template <int kReal, Into kInto, bool kDiagonal> Sums apply_to(Operator const& what, Wave& source, Wave& out) const;
    Complex phase(std::int64_t row) const { return phases_[static_cast<std::size_t>(row + 1)]; }

    System system_;
    Strips& strips_;
    Operator twice_;                     // 2 h
    std::vector<std::vector<Hop>> hops_; // by sublattice, those with a phase last
    std::vector<Complex> phases_;        // for rows -1 to rows()
    Memory energies_;                    // site energies times 2 / half_width, by row and sublattice
};

} // namespace quantum_hall
