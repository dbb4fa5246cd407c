// From Chebyshev moments to functions of the energy.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace quantum_hall {

// Damping factors g_m of the Jackson kernel for m < count (KPM, eq. 71): without them a truncated series oscillates.
std::vector<double> jackson(std::size_t count);

// Chebyshev-Gauss nodes cos(pi (k + 1/2) / count), ascending.
std::vector<double> nodes(std::size_t count);

// The density of moments mu_m at energy x * half_width, for an integral of mu_0 over all energies (KPM, eq. 68).
double density(std::span<double const> moments, std::span<double const> kernel, double x, double half_width);

// The bias of the Jackson kernel falls like 1/count^2, so results of `count` and of half as many, which cost nothing
// more, give one of higher order (L. F. Richardson, Phil. Trans. R. Soc. A 226, 299 (1927)).
constexpr double extrapolated(double whole, double half) { return (4 * whole - half) / 3; }

} // namespace quantum_hall
