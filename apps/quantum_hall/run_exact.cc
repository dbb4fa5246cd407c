// The program `exact`: the same quantities by dense diagonalisation, on rank 0, for the same vectors of the trace.
#include "programs.h"

#include <thalweg/base/error.h>

#include "exact.h"
#include "report.h"

namespace quantum_hall {

namespace {

constexpr std::int64_t kMostSites = 4096;

nlohmann::json flat(Eigen::VectorXcd const& values) {
    nlohmann::json list = nlohmann::json::array();
    for (auto const value : values) list.push_back(value.real()), list.push_back(value.imag());
    return list;
}

// Returns the vectors of the trace as columns.
Eigen::MatrixXcd starts(Options const& options, Strips const& strips) {
    auto const& system = options.system;
    Wave wave(system, strips);
    Eigen::MatrixXcd result(system.sites(), options.trace.vectors(system));
    for (Eigen::Index k = 0; k < result.cols(); ++k) {
        options.trace.fill(system, strips, k, wave);
        auto const values = wave.interleaved();
        result.col(k) = Eigen::Map<Eigen::VectorXcd const>(values.data(), result.rows());
    }
    return result;
}

nlohmann::json of_dense(Options const& options) {
    auto const& system = options.system;
    Strips const strips(system);
    auto const spectrum = diagonalised(system);
    auto const vectors = starts(options, strips);
    auto const scale = options.trace.weight(system) / static_cast<double>(system.sites());
    auto moments = exact_moments(spectrum, system.half_width(), vectors, options.moments);
    for (auto& moment : moments) moment *= scale;
    nlohmann::json results{{"spectrum", {spectrum.energies.minCoeff(), spectrum.energies.maxCoeff()}},
                           {"trace_of_square", spectrum.energies.squaredNorm()},
                           {"moments", moments}};
    for (std::int64_t site = 0; site < 4; ++site) results["potential"].push_back(system.potential(site));
    results["double_moments"] =
        parts(scale * exact_double_moments(spectrum, system.half_width(), vectors, options.double_moments));
    for (auto const energy : options.energies) {
        results["sigma_xy"].push_back(exact_hall(spectrum, system.area(), energy));
    }
    for (std::size_t step = 1; step <= options.steps; ++step) {
        auto const exact = exact_evolution(spectrum, options.time_step * static_cast<double>(step));
        Eigen::MatrixXcd const xi = exact.commutator * vectors;
        results["mean_square_displacement"].push_back(scale * xi.squaredNorm());
        if (step < options.steps || !options.print_states) continue;
        results["psi"] = flat(exact.evolution * vectors.rightCols(1));
        results["xi"] = flat(xi.rightCols(1));
    }
    return results;
}

} // namespace

bool run_exact(Options const& options) {
    if (Strips::ranks() > 1) {
        thalweg::base::fail_usage({"exact runs on one rank", "dense matrices are not distributed", "start it alone"});
    }
    if (options.bloch) {
        auto const result = exact_bloch(options.system, options.energies);
        report(options, {{"energies_at_zero", result.energies_at_zero}, {"sigma_xy", result.hall}},
               {{"energies", {{"energy", result.energies_at_zero}}}});
        return true;
    }
    if (options.system.sites() > kMostSites) {
        thalweg::base::fail_usage({"exact does not go with " + std::to_string(options.system.sites()) + " sites",
                                   "dense matrices of more than " + std::to_string(kMostSites) + " are too large",
                                   "choose a smaller --size, or --bloch without disorder"});
    }
    auto const results = of_dense(options);
    report(options, results, {{"moments", {{"moment", results["moments"].get<std::vector<double>>()}}}});
    return true;
}

} // namespace quantum_hall
