// Computes the same quantities by dense diagonalisation, to check the order-N code.
#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "hamiltonian.h"
#include "trace.h"

namespace quantum_hall {

Eigen::MatrixXcd dense(System const& system, Operator const& what);

// Eigenstates of H, and velocities between them.
struct Spectrum {
    Eigen::VectorXd energies;
    Eigen::MatrixXcd states;
    Eigen::MatrixXcd velocity_x, velocity_y;
};
Spectrum diagonalised(Eigen::MatrixXcd const& hamiltonian, Eigen::MatrixXcd const& velocity_x,
                      Eigen::MatrixXcd const& velocity_y);
Spectrum diagonalised(System const& system);

// sigma_xy = (2 pi / A) 2 Im sum_{n occupied, m empty} v^x_nm v^y_mn / (E_n - E_m)^2, in e^2/h for each spin
// (D. J. Thouless, M. Kohmoto, M. P. Nightingale, M. den Nijs, Phys. Rev. Lett. 49, 405 (1982), with our signs).
double exact_hall(Spectrum const& spectrum, double area, double fermi_energy);

// Return the sum of <start| T_m |start>, and of <start| v_x T_m v_y T_n |start>, over the columns of `starts`.
std::vector<double> exact_moments(Spectrum const& spectrum, double half_width, Eigen::MatrixXcd const& starts,
                                  std::size_t count);
Eigen::MatrixXcd exact_double_moments(Spectrum const& spectrum, double half_width, Eigen::MatrixXcd const& starts,
                                      std::size_t count);

// U(t) and [X, U(t)].
struct ExactEvolution {
    Eigen::MatrixXcd evolution, commutator;
};
ExactEvolution exact_evolution(Spectrum const& spectrum, double time);

// The result without disorder: eigenstates of one momentum at a time, from cells of as many rows as the phase takes to
// repeat.
struct BlochResult {
    std::vector<double> energies_at_zero; // at momentum zero, ascending
    std::vector<double> hall;             // by Fermi energy
};
BlochResult exact_bloch(System const& system, std::span<double const> fermi_energies);

} // namespace quantum_hall
