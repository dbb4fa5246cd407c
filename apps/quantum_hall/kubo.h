// The Hall conductivity from double moments: the Kubo-Bastin formula at zero temperature.
#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "lattice.h"

namespace quantum_hall {

// sigma_xy in e^2/h for each spin, when states below half_width * x are occupied, for x between ascending nodes:
// element k has nodes 0 to k below it.
struct HallCurve {
    std::vector<double> x;
    std::vector<double> sigma;

    double at(double x) const; // linear in between
};

// From the first `count` rows and columns of the traces mu_mn, on `points` Chebyshev-Gauss nodes (points >= 2 count).
std::vector<double> hall_conductivity(System const& system, Eigen::MatrixXcd const& moments, std::size_t count,
                                      std::size_t points);

// Of M and M/2 moments, extrapolated.
HallCurve hall_curve(System const& system, Eigen::MatrixXcd const& moments);
std::vector<double> bounds_between_nodes(std::size_t points);

} // namespace quantum_hall
