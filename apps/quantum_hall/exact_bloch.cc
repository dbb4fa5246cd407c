// Magnetic Bloch states: without disorder, the momentum of the cell after which the phase repeats is conserved along
// both axes.
#include "exact.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include <thalweg/base/error.h>

namespace quantum_hall {

namespace {

// Returns the block of `what` at phases `x` per column and `y` per cell of `period` rows.
Eigen::MatrixXcd block(System const& system, Operator const& what, std::int64_t period, double x, double y) {
    auto const sublattices = system.lattice.sublattices;
    Eigen::MatrixXcd matrix = Eigen::MatrixXcd::Zero(period * sublattices, period * sublattices);
    for (int s = 0; s < sublattices; ++s) {
        for (auto const& hop : hops_into(system.lattice, s)) {
            for (std::int64_t j = 0; j < period; ++j) {
                auto amplitude = hop.along ? what.along[hop.bond] : what.against[hop.bond];
                if (system.lattice.bonds[hop.bond].carries_phase) {
                    auto const phase = system.phase(j + hop.phase);
                    amplitude *= hop.along ? phase : std::conj(phase);
                }
                auto const row = j + hop.row;
                auto const cell = row < 0 ? -1 : row >= period ? 1 : 0;
                amplitude *= std::polar(1.0, x * static_cast<double>(hop.column) + y * cell);
                matrix(j * sublattices + s, (row - cell * period) * sublattices + hop.source) += amplitude;
            }
        }
    }
    return matrix;
}

} // namespace

BlochResult exact_bloch(System const& system, std::span<double const> fermi_energies) {
    if (system.disorder != 0) {
        thalweg::base::fail_usage({"--bloch does not go with --disorder", "disorder mixes states of different momenta",
                                   "leave one of them out"});
    }
    auto const period = system.rows / std::gcd(system.rows, system.flux_quanta);
    auto const cells = system.rows / period;
    BlochResult result{{}, std::vector<double>(fermi_energies.size())};
    for (std::int64_t row = 0; row < cells; ++row) {
        for (std::int64_t column = 0; column < system.columns; ++column) {
            auto const turn = 2 * std::numbers::pi;
            auto const x = turn * static_cast<double>(column) / static_cast<double>(system.columns);
            auto const y = turn * static_cast<double>(row) / static_cast<double>(cells);
            auto const of = [&](Operator const& what) { return block(system, what, period, x, y); };
            auto const spectrum =
                diagonalised(of(scaled(system, system.half_width())), of(velocity(system, 0)), of(velocity(system, 1)));
            if (row == 0 && column == 0) {
                result.energies_at_zero.assign(spectrum.energies.data(),
                                               spectrum.energies.data() + spectrum.energies.size());
            }
            for (std::size_t k = 0; k < fermi_energies.size(); ++k) {
                result.hall[k] += exact_hall(spectrum, system.area(), fermi_energies[k]);
            }
        }
        if (fermi_energies.empty()) break;
    }
    return result;
}

} // namespace quantum_hall
