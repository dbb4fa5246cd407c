// The Hall conductivity from double moments: the Kubo-Bastin formula at zero temperature.
#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "lattice.h"

namespace quantum_hall {

// sigma_xy in e^2/h for each spin when states are occupied below each of `points` energies, which lie between the
// Chebyshev-Gauss nodes over which it is integrated (points >= 2 count), in units of the half width. From the first
// `count` rows and columns of the traces mu_mn.
std::vector<double> hall_conductivity(System const& system, Eigen::MatrixXcd const& moments, std::size_t count,
                                      std::size_t points);
std::vector<double> bounds_between_nodes(std::size_t points);

// Of M and M/2 moments, extrapolated, at 2 M energies.
std::vector<double> hall_curve(System const& system, Eigen::MatrixXcd const& moments);

// Linear between ascending x.
double interpolated(std::vector<double> const& x, std::vector<double> const& values, double where);

} // namespace quantum_hall
