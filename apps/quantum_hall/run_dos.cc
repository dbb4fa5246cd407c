// `dos` and `moments`: what the Hamiltonian's polynomials are on random vectors, and the density of states they give.
#include "programs.h"

#include <cmath>

#include "chebyshev.h"
#include "double_moments.h"
#include "kernel.h"
#include "report.h"
#include "statistics.h"

namespace quantum_hall {

namespace {

// By site, so that mu_0 is 1.
Estimate by_site(Estimate estimate, System const& system) {
    for (auto* list : {&estimate.value, &estimate.error}) {
        for (auto& value : *list) value /= static_cast<double>(system.sites());
    }
    return estimate;
}

std::vector<double> orders(std::size_t count) {
    std::vector<double> result(count);
    for (std::size_t m = 0; m < count; ++m) result[m] = static_cast<double>(m);
    return result;
}

// The moments of each vector of the trace.
std::vector<double> samples_of_moments(Options const& options, Hamiltonian const& hamiltonian) {
    Recurrence recurrence(hamiltonian);
    Wave start(options.system, hamiltonian.strips());
    std::vector<double> samples;
    for (std::int64_t k = 0; k < options.trace.vectors(options.system); ++k) {
        options.trace.fill(options.system, hamiltonian.strips(), k, start);
        auto const some = moments(recurrence, hamiltonian.strips(), start, options.moments);
        samples.insert(samples.end(), some.begin(), some.end());
    }
    return samples;
}

} // namespace

void run_moments(Options const& options) {
    auto const& system = options.system;
    Strips strips(system);
    Hamiltonian const hamiltonian(system, strips);
    auto const samples = samples_of_moments(options, hamiltonian);
    auto const mean = by_site(estimate(options.trace, system, samples, options.moments), system);
    nlohmann::json results{{"moments", mean.value}, {"error", mean.error}};
    std::vector<ResultTable> tables{
        {"moments", {{"order", orders(options.moments)}, {"moment", mean.value}, {"error", mean.error}}}};
    if (options.double_moments > 0) {
        auto const count = static_cast<Eigen::Index>(options.double_moments);
        Eigen::MatrixXcd sum = Eigen::MatrixXcd::Zero(count, count);
        DoubleMoments double_moments(hamiltonian);
        Wave start(system, strips);
        for (std::int64_t k = 0; k < options.trace.vectors(system); ++k) {
            options.trace.fill(system, strips, k, start);
            sum += double_moments(start, options.double_moments);
        }
        results["double_moments"] = parts(sum * options.trace.weight(system) / static_cast<double>(system.sites()));
    }
    report(options, results, tables);
}

void run_dos(Options const& options) {
    auto const& system = options.system;
    Strips strips(system);
    Hamiltonian const hamiltonian(system, strips);
    auto const samples = samples_of_moments(options, hamiltonian);
    auto const mean = by_site(estimate(options.trace, system, samples, options.moments), system);
    auto energies = options.energies;
    if (energies.empty()) {
        for (auto const x : nodes(2 * options.moments)) energies.push_back(x * system.half_width());
    }
    // The density is linear in the moments, so its error is that of the densities of the vectors.
    auto const kernel = jackson(options.moments);
    std::vector<double> densities;
    for (std::size_t k = 0; k < samples.size(); k += options.moments) {
        std::span<double const> const some(samples.data() + k, options.moments);
        for (auto const energy : energies) {
            densities.push_back(density(some, kernel, energy / system.half_width(), system.half_width()));
        }
    }
    auto const dos = by_site(estimate(options.trace, system, densities, energies.size()), system);
    report(options, {{"energies", energies}, {"dos", dos.value}, {"error", dos.error}},
           {{"dos", {{"energy", energies}, {"dos", dos.value}, {"error", dos.error}}},
            {"moments", {{"order", orders(options.moments)}, {"moment", mean.value}, {"error", mean.error}}}});
}

} // namespace quantum_hall
