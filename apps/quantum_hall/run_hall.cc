// The program `hall`: the Hall conductivity as a function of the Fermi energy.
#include "programs.h"

#include "continuation.h"
#include "double_moments.h"
#include "kubo.h"
#include "report.h"
#include "statistics.h"

namespace quantum_hall {

bool run_hall(Options const& options) {
    auto const& system = options.system;
    Strips strips(system);
    Hamiltonian const hamiltonian(system, strips);
    // The curve of each vector is kept, for the errors; its moments are not.
    Progress progress{0, 0, {{"curves", {}}}, {}};
    auto& curves = progress.results["curves"]; // on rank 0
    Continuation continuation(options, strips, progress);
    DoubleMoments double_moments(hamiltonian);
    Wave start(system, strips);
    while (progress.vectors < options.trace.vectors(system)) {
        options.trace.fill(system, strips, progress.vectors, start);
        auto const moments = double_moments(start, options.moments);
        auto const curve = Strips::rank() == 0 ? hall_curve(system, moments) : std::vector<double>();
        curves.insert(curves.end(), curve.begin(), curve.end());
        if (++progress.vectors < options.trace.vectors(system) && !continuation.goes_on()) {
            continuation.report_unfinished();
            return false;
        }
    }
    continuation.finish();
    if (Strips::rank() != 0) return true;
    auto const x = bounds_between_nodes(2 * options.moments);
    auto const mean = estimate(options.trace, system, curves, 2 * options.moments);
    std::vector<double> energies, sigma, error;
    for (auto const point : x) energies.push_back(point * system.half_width());
    for (auto const energy : options.energies) {
        sigma.push_back(interpolated(x, mean.value, energy / system.half_width()));
        if (!mean.error.empty()) error.push_back(interpolated(x, mean.error, energy / system.half_width()));
    }
    report(options, {{"energies", options.energies}, {"sigma_xy", sigma}, {"error", error}},
           {{"hall", {{"energy", energies}, {"sigma_xy", mean.value}, {"error", mean.error}}}});
    return true;
}

} // namespace quantum_hall
