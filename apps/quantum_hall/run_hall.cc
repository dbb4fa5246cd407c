// `hall`: the Hall conductivity by the Fermi energy.
#include "programs.h"

#include "double_moments.h"
#include "kubo.h"
#include "report.h"
#include "statistics.h"

namespace quantum_hall {

namespace {

double at(std::vector<double> const& x, std::vector<double> const& values, double where) {
    return values.empty() ? 0 : HallCurve{x, values}.at(where);
}

} // namespace

void run_hall(Options const& options) {
    auto const& system = options.system;
    Strips strips(system);
    Hamiltonian const hamiltonian(system, strips);
    DoubleMoments double_moments(hamiltonian);
    Wave start(system, strips);
    // The curve of each vector is kept, for the errors, and its moments are not.
    std::vector<double> curves;
    std::vector<double> x;
    for (std::int64_t k = 0; k < options.trace.vectors(system); ++k) {
        options.trace.fill(system, strips, k, start);
        auto const moments = double_moments(start, options.moments);
        if (Strips::rank() != 0) continue;
        auto const curve = hall_curve(system, moments);
        x = curve.x;
        curves.insert(curves.end(), curve.sigma.begin(), curve.sigma.end());
    }
    if (Strips::rank() != 0) return;
    auto const mean = estimate(options.trace, system, curves, 2 * options.moments);
    std::vector<double> energies, sigma, error;
    for (auto const point : x) energies.push_back(point * system.half_width());
    for (auto const energy : options.energies) {
        sigma.push_back(at(x, mean.value, energy / system.half_width()));
        if (!mean.error.empty()) error.push_back(at(x, mean.error, energy / system.half_width()));
    }
    report(options, {{"energies", options.energies}, {"sigma_xy", sigma}, {"error", error}},
           {{"hall", {{"energy", energies}, {"sigma_xy", mean.value}, {"error", mean.error}}}});
}

} // namespace quantum_hall
