// mu_mn = <start| v_x T_m(h) v_y T_n(h) |start>, the double Chebyshev expansion of the Kubo-Bastin formula
// (J. H. Garcia, L. Covaci, T. G. Rappoport, Phys. Rev. Lett. 114, 116602 (2015)).
#pragma once

#include <Eigen/Core>

#include "chebyshev.h"

namespace quantum_hall {

class DoubleMoments {
  public:
    // Holds 2 * `block` wave functions, whatever the number of moments is. The vectors T_m v_x |start> are computed
    // again for each block of n, which costs 1/block of the products.
    DoubleMoments(Hamiltonian const& hamiltonian, std::size_t block = 64);

    // Returns the same on all ranks.
    Eigen::MatrixXcd operator()(Wave const& start, std::size_t count);

  private:
    void put(Wave const& wave, std::size_t column, Eigen::MatrixXd& into) const;

    Hamiltonian const& hamiltonian_;
    std::size_t block_;
    Operator velocity_x_, velocity_y_;
    Recurrence left_, right_;
    Wave beginning_, moved_;
    Eigen::MatrixXd lefts_, rights_; // a column of real parts and one of imaginary parts for each wave function
};

} // namespace quantum_hall
