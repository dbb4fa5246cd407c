// The program `evolve`: how wave packets spread, and the conductivity sigma_xx(E, t) that follows.
#include "programs.h"

#include <cmath>
#include <numbers>

#include <thalweg/base/error.h>

#include "chebyshev.h"
#include "continuation.h"
#include "evolve.h"
#include "kernel.h"
#include "report.h"
#include "statistics.h"

namespace quantum_hall {

namespace {

constexpr std::int64_t kMostSitesPrinted = 100'000;

// Returns the whole wave function on rank 0.
nlohmann::json whole(System const& system, Strips const& strips, Wave const& wave) {
    auto const mine = wave.interleaved();
    std::vector<double> all(static_cast<std::size_t>(2 * system.sites()));
    strips.gather({reinterpret_cast<double const*>(mine.data()), 2 * mine.size()}, all,
                  2 * system.columns * system.lattice.sublattices);
    return all;
}

// The displacement at energies from what each vector gave, and
//   sigma_xx(E, t) = e^2 rho(E) / 2 d/dt <Delta X^2(E, t)>, rho by area: in e^2/h, pi rho d/dt <Delta X^2>.
// rho <Delta X^2> is the density of xi, so no quotient of noisy numbers is needed.
struct Spreading {
    Options const& options;
    std::vector<double> const& samples; // by vector: step, then moment

    // Returns, by step and energy for one vector, the density of xi at the end of each step.
    std::vector<double> densities(std::span<double const> sample) const {
        auto const& system = options.system;
        auto const kernel = jackson(options.moments);
        std::vector<double> result;
        for (std::size_t step = 0; step < options.steps; ++step) {
            auto const moments = sample.subspan(step * options.moments, options.moments);
            for (auto const energy : options.energies) {
                result.push_back(density(moments, kernel, energy / system.half_width(), system.half_width()));
            }
        }
        return result;
    }

    // Returns, by step and energy, the conductivity of the interval that ends with the step.
    Estimate conductivity() const {
        auto const& system = options.system;
        auto const count = options.energies.size();
        auto const factor = std::numbers::pi / (options.time_step * system.area());
        std::vector<double> all;
        auto const length = options.steps * options.moments;
        for (std::size_t k = 0; k < samples.size(); k += length) {
            auto const some = densities(std::span(samples).subspan(k, length));
            for (std::size_t i = 0; i < some.size(); ++i) {
                all.push_back(factor * (some[i] - (i < count ? 0 : some[i - count])));
            }
        }
        return estimate(options.trace, system, all, options.steps * count);
    }
};

// Does all remaining steps of all vectors. Returns false if it must be continued.
bool spread(Options const& options, Hamiltonian const& hamiltonian, Progress& progress, Continuation& continuation) {
    auto const& system = options.system;
    auto& strips = hamiltonian.strips();
    auto &psi = *progress.waves.at("psi"), &xi = *progress.waves.at("xi");
    auto &displacements = progress.results["displacements"], &energies = progress.results["moments"];
    auto const vectors = options.trace.vectors(system), steps = static_cast<std::int64_t>(options.steps);
    Evolution evolution(hamiltonian, options.time_step);
    Recurrence recurrence(hamiltonian);
    while (progress.vectors < vectors) {
        if (progress.steps == 0) {
            options.trace.fill(system, strips, progress.vectors, psi);
            xi.fill(0);
        }
        evolution.step(psi, xi);
        displacements.push_back(inner_product(strips, xi, xi).real() / static_cast<double>(system.sites()));
        if (!options.energies.empty()) {
            auto const some = moments(recurrence, strips, xi, options.moments);
            energies.insert(energies.end(), some.begin(), some.end());
        }
        if (++progress.steps == steps) progress.steps = 0, ++progress.vectors;
        if (progress.vectors < vectors && !continuation.goes_on()) return false;
    }
    continuation.finish();
    return true;
}

} // namespace

bool run_evolve(Options const& options) {
    auto const& system = options.system;
    if (options.print_states && system.sites() > kMostSitesPrinted) {
        thalweg::base::fail_usage({"--print-states does not go with " + std::to_string(system.sites()) + " sites",
                                   "JSON has room for " + std::to_string(kMostSitesPrinted), "leave it out"});
    }
    Strips strips(system);
    Hamiltonian const hamiltonian(system, strips);
    Wave psi(system, strips), xi(system, strips);
    Progress progress{0, 0, {{"displacements", {}}, {"moments", {}}}, {{"psi", &psi}, {"xi", &xi}}};
    Continuation continuation(options, strips, progress);
    if (!spread(options, hamiltonian, progress, continuation)) {
        continuation.report_unfinished();
        return false;
    }
    auto const& displacements = progress.results["displacements"];
    Spreading const spreading{options, progress.results["moments"]};
    auto const at_energies = !options.energies.empty();
    auto const mean = estimate(options.trace, system, displacements, options.steps);
    std::vector<double> times;
    for (std::size_t step = 1; step <= options.steps; ++step) {
        times.push_back(options.time_step * static_cast<double>(step));
    }
    nlohmann::json results{{"times", times}, {"mean_square_displacement", mean.value}, {"error", mean.error}};
    std::vector<ResultTable> tables{
        {"displacement", {{"time", times}, {"mean_square_displacement", mean.value}, {"error", mean.error}}}};
    if (at_energies) {
        auto const sigma = spreading.conductivity();
        std::vector<double> time_column, energy_column;
        for (auto const time : times) {
            for (auto const energy : options.energies) {
                time_column.push_back(time - options.time_step / 2); // the middle of the interval
                energy_column.push_back(energy);
            }
        }
        results["sigma_xx"] = {
            {"time", time_column}, {"energy", energy_column}, {"sigma_xx", sigma.value}, {"error", sigma.error}};
        tables.push_back(
            {"conductivity",
             {{"time", time_column}, {"energy", energy_column}, {"sigma_xx", sigma.value}, {"error", sigma.error}}});
    }
    if (options.print_states) {
        results["psi"] = whole(system, strips, psi);
        results["xi"] = whole(system, strips, xi);
    }
    report(options, results, tables);
    return true;
}

} // namespace quantum_hall
