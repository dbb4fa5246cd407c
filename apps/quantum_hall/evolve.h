// Wave packets in time: psi(t) = U(t) psi and xi(t) = [X, U(t)] psi, U = exp(-i H t). As X(t) - X = U^+ [X, U], the
// mean-square displacement is <xi|xi>, and that at an energy <xi| delta(E - H) |xi>
// (F. Ortmann, N. Leconte, S. Roche, Phys. Rev. B 91, 165117 (2015); there with a continued fraction, here with
// Chebyshev polynomials for both time and energy).
#pragma once

#include <vector>

#include "hamiltonian.h"
#include "wave.h"

namespace quantum_hall {

// Returns J_0(x) to J_n(x), up to where they fall below 1e-18.
std::vector<double> bessel_functions(double x);

class Evolution {
  public:
    Evolution(Hamiltonian const& hamiltonian, double time_step);

    // Moves psi and xi, both at time t, to t + time_step.
    void step(Wave& psi, Wave& xi);
    std::size_t terms() const { return coefficients_.size(); }

  private:
    Hamiltonian const& hamiltonian_;
    std::vector<Complex> coefficients_;
    Operator once_, commutator_once_, commutator_twice_;
    Wave polynomial_, polynomial_before_, derivative_, derivative_before_;
};

} // namespace quantum_hall
