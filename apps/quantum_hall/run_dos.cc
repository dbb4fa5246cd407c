// The programs `dos` and `moments`: the Chebyshev moments of random vectors, and the density of states that they give.
#include "programs.h"

#include <optional>
#include <span>

#include "chebyshev.h"
#include "continuation.h"
#include "double_moments.h"
#include "kernel.h"
#include "report.h"
#include "statistics.h"

namespace quantum_hall {

namespace {

// Divides by the number of sites, so that mu_0 is 1.
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

// Computes the moments of each vector of the trace into progress.results["moments"]. Returns false if it must be
// continued.
bool find_moments(Options const& options, Hamiltonian const& hamiltonian, Progress& progress, bool with_double) {
    auto const& system = options.system;
    auto& strips = hamiltonian.strips();
    auto& samples = progress.results["moments"];
    auto& doubles = progress.results["double_moments"]; // sum over vectors
    Continuation continuation(options, strips, progress);
    Recurrence recurrence(hamiltonian);
    std::optional<DoubleMoments> double_moments;
    if (with_double) double_moments.emplace(hamiltonian);
    Wave start(system, strips);
    while (progress.vectors < options.trace.vectors(system)) {
        options.trace.fill(system, strips, progress.vectors, start);
        auto const some = moments(recurrence, strips, start, options.moments);
        samples.insert(samples.end(), some.begin(), some.end());
        if (double_moments) {
            auto const matrix = (*double_moments)(start, options.double_moments);
            doubles.resize(static_cast<std::size_t>(2 * matrix.size()));
            Eigen::Map<Eigen::MatrixXcd>(reinterpret_cast<Complex*>(doubles.data()), matrix.rows(), matrix.cols()) +=
                matrix;
        }
        if (++progress.vectors < options.trace.vectors(system) && !continuation.goes_on()) {
            continuation.report_unfinished();
            return false;
        }
    }
    continuation.finish();
    return true;
}

} // namespace

bool run_moments(Options const& options) {
    auto const& system = options.system;
    Strips strips(system);
    Hamiltonian const hamiltonian(system, strips);
    Progress progress;
    if (!find_moments(options, hamiltonian, progress, options.double_moments > 0)) return false;
    auto const& samples = progress.results["moments"];
    auto const mean = by_site(estimate(options.trace, system, samples, options.moments), system);
    nlohmann::json results{{"moments", mean.value}, {"error", mean.error}};
    std::vector<ResultTable> tables{
        {"moments", {{"order", orders(options.moments)}, {"moment", mean.value}, {"error", mean.error}}}};
    if (options.double_moments > 0) {
        auto const count = static_cast<Eigen::Index>(options.double_moments);
        auto const scale = options.trace.weight(system) / static_cast<double>(system.sites());
        auto const* const sum = reinterpret_cast<Complex const*>(progress.results["double_moments"].data());
        results["double_moments"] = parts(scale * Eigen::Map<Eigen::MatrixXcd const>(sum, count, count));
    }
    report(options, results, tables);
    return true;
}

bool run_dos(Options const& options) {
    auto const& system = options.system;
    Strips strips(system);
    Hamiltonian const hamiltonian(system, strips);
    Progress progress;
    if (!find_moments(options, hamiltonian, progress, false)) return false;
    auto const& samples = progress.results["moments"];
    auto const mean = by_site(estimate(options.trace, system, samples, options.moments), system);
    auto energies = options.energies;
    if (energies.empty()) {
        for (auto const x : nodes(2 * options.moments)) energies.push_back(x * system.half_width());
    }
    // The density is linear in the moments, so its error is that of the densities of the single vectors.
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
    return true;
}

} // namespace quantum_hall
