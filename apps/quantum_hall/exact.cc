#include "exact.h"

#include <cmath>
#include <numbers>

#include <Eigen/Eigenvalues>

namespace quantum_hall {

namespace {

std::int64_t wrapped(std::int64_t index, std::int64_t size) { return ((index % size) + size) % size; }

// T_m(E / half_width), a row for each state and a column for each m.
Eigen::MatrixXd polynomials(Spectrum const& spectrum, double half_width, std::size_t count) {
    Eigen::MatrixXd values(spectrum.energies.size(), static_cast<Eigen::Index>(count));
    for (Eigen::Index m = 0; m < values.cols(); ++m) {
        values.col(m) = (static_cast<double>(m) * (spectrum.energies / half_width).array().acos()).cos();
    }
    return values;
}

} // namespace

Eigen::MatrixXcd dense(System const& system, Operator const& what) {
    Eigen::MatrixXcd matrix = Eigen::MatrixXcd::Zero(system.sites(), system.sites());
    for (int s = 0; s < system.lattice.sublattices; ++s) {
        for (auto const& hop : hops_into(system.lattice, s)) {
            for (std::int64_t j = 0; j < system.rows; ++j) {
                auto amplitude = hop.along ? what.along[hop.bond] : what.against[hop.bond];
                if (system.lattice.bonds[hop.bond].carries_phase) {
                    auto const phase = system.phase(j + hop.phase);
                    amplitude *= hop.along ? phase : std::conj(phase);
                }
                for (std::int64_t i = 0; i < system.columns; ++i) {
                    auto const from = system.site(hop.source, wrapped(i + hop.column, system.columns),
                                                  wrapped(j + hop.row, system.rows));
                    matrix(system.site(s, i, j), from) += amplitude;
                }
            }
        }
    }
    for (std::int64_t site = 0; site < system.sites(); ++site) {
        matrix(site, site) += what.diagonal * system.potential(site) / system.half_width();
    }
    return matrix;
}

Spectrum diagonalised(Eigen::MatrixXcd const& hamiltonian, Eigen::MatrixXcd const& velocity_x,
                      Eigen::MatrixXcd const& velocity_y) {
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXcd> const solver(hamiltonian);
    auto const& states = solver.eigenvectors();
    return {solver.eigenvalues(), states, states.adjoint() * velocity_x * states,
            states.adjoint() * velocity_y * states};
}

Spectrum diagonalised(System const& system) {
    return diagonalised(dense(system, scaled(system, system.half_width())), dense(system, velocity(system, 0)),
                        dense(system, velocity(system, 1)));
}

double exact_hall(Spectrum const& spectrum, double area, double fermi_energy) {
    auto const& energies = spectrum.energies;
    double sum = 0;
    for (Eigen::Index n = 0; n < energies.size() && energies(n) < fermi_energy; ++n) {
        for (Eigen::Index m = energies.size(); m-- > 0 && energies(m) >= fermi_energy;) {
            auto const gap = energies(n) - energies(m);
            sum += (spectrum.velocity_x(n, m) * spectrum.velocity_y(m, n)).imag() / (gap * gap);
        }
    }
    return 2 * std::numbers::pi / area * 2 * sum;
}

std::vector<double> exact_moments(Spectrum const& spectrum, double half_width, Eigen::MatrixXcd const& starts,
                                  std::size_t count) {
    Eigen::VectorXd const weights = (spectrum.states.adjoint() * starts).rowwise().squaredNorm();
    Eigen::VectorXd const sums = polynomials(spectrum, half_width, count).transpose() * weights;
    return {sums.data(), sums.data() + sums.size()};
}

Eigen::MatrixXcd exact_double_moments(Spectrum const& spectrum, double half_width, Eigen::MatrixXcd const& starts,
                                      std::size_t count) {
    Eigen::MatrixXcd const parts = spectrum.states.adjoint() * starts;
    Eigen::MatrixXcd const lefts = spectrum.velocity_x * parts;
    Eigen::MatrixXcd const weights = spectrum.velocity_y.cwiseProduct(lefts.conjugate() * parts.transpose());
    auto const values = polynomials(spectrum, half_width, count);
    return values.transpose() * weights * values;
}

// Between states n and m, [X, f(H)] is [X, H]_nm (f(E_m) - f(E_n)) / (E_m - E_n), where [X, H] = i v_x; for
// f = exp(-i E t) the quotient is -i t exp(-i (E_n + E_m) t / 2) sin(d) / d, with d = (E_m - E_n) t / 2.
ExactEvolution exact_evolution(Spectrum const& spectrum, double time) {
    auto const& energies = spectrum.energies;
    Eigen::MatrixXcd quotients(energies.size(), energies.size());
    for (Eigen::Index m = 0; m < energies.size(); ++m) {
        for (Eigen::Index n = 0; n < energies.size(); ++n) {
            auto const d = (energies(m) - energies(n)) * time / 2;
            auto const sinc = std::abs(d) < 1e-4 ? 1 - d * d / 6 : std::sin(d) / d;
            quotients(n, m) = Complex(0, -time) * sinc * std::polar(1.0, -(energies(n) + energies(m)) * time / 2);
        }
    }
    Eigen::VectorXcd const phases = (Complex(0, -time) * energies.cast<Complex>()).array().exp();
    auto const& states = spectrum.states;
    return {states * phases.asDiagonal() * states.adjoint(),
            states * (Complex(0, 1) * spectrum.velocity_x.cwiseProduct(quotients)) * states.adjoint()};
}

} // namespace quantum_hall
