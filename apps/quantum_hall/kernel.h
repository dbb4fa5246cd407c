// Computes functions of the energy from Chebyshev moments.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace quantum_hall {

// Returns the damping factors g_m of the Jackson kernel for m < count (KPM, eq. 71): without them a truncated series
// oscillates.
std::vector<double> jackson(std::size_t count);

// Returns the Chebyshev-Gauss nodes cos(pi (k + 1/2) / count), ascending.
std::vector<double> nodes(std::size_t count);

// Returns the density of moments mu_m at energy x * half_width; its integral over all energies is mu_0 (KPM, eq. 68).
double density(std::span<double const> moments, std::span<double const> kernel, double x, double half_width);

// The bias of the Jackson kernel falls like 1/count^2, so the results of `count` and of half as many moments, which
// cost no extra work, combine to a result of higher order (L. F. Richardson, Phil. Trans. R. Soc. A 226, 299 (1927)).
constexpr double extrapolated(double whole, double half) { return (4 * whole - half) / 3; }

} // namespace quantum_hall
