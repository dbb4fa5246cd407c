// The Hall conductivity from double moments: the Kubo-Bastin formula at zero temperature.
#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "lattice.h"

namespace quantum_hall {

// Returns sigma_xy in e^2/h for each spin if the states below each of `points` energies are occupied. The energies lie
// between the Chebyshev-Gauss nodes of the integration (points >= 2 count), in units of the half width. Uses the first
// `count` rows and columns of the traces mu_mn.
std::vector<double> hall_conductivity(System const& system, Eigen::MatrixXcd const& moments, std::size_t count,
                                      std::size_t points);
std::vector<double> bounds_between_nodes(std::size_t points);

// Extrapolates the curves of M and M/2 moments, at 2 M energies.
std::vector<double> hall_curve(System const& system, Eigen::MatrixXcd const& moments);

// Interpolates linearly between ascending x.
double interpolated(std::vector<double> const& x, std::vector<double> const& values, double where);

} // namespace quantum_hall
