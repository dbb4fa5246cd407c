#include "double_moments.h"

#include <algorithm>
#include <span>

namespace quantum_hall {

DoubleMoments::DoubleMoments(Hamiltonian const& hamiltonian, std::size_t block)
    : hamiltonian_(hamiltonian), block_(block), velocity_x_(velocity(hamiltonian.system(), 0)),
      velocity_y_(velocity(hamiltonian.system(), 1)), left_(hamiltonian), right_(hamiltonian),
      beginning_(hamiltonian.system(), hamiltonian.strips()), moved_(hamiltonian.system(), hamiltonian.strips()) {
    auto const& system = hamiltonian.system();
    auto const sites = hamiltonian.strips().rows() * system.columns * system.lattice.sublattices;
    lefts_.resize(sites, static_cast<Eigen::Index>(2 * block));
    rights_.resize(sites, static_cast<Eigen::Index>(2 * block));
}

void DoubleMoments::put(Wave const& wave, std::size_t column, Eigen::MatrixXd& into) const {
    auto* re = into.col(static_cast<Eigen::Index>(column)).data();
    auto* im = into.col(static_cast<Eigen::Index>(column + block_)).data();
    for (std::int64_t j = 0; j < wave.rows(); ++j) {
        for (int s = 0; s < wave.sublattices(); ++s) {
            auto const row = wave.row(s, j);
            re = std::copy_n(row.re, wave.columns(), re);
            im = std::copy_n(row.im, wave.columns(), im);
        }
    }
}

Eigen::MatrixXcd DoubleMoments::operator()(Wave const& start, std::size_t count) {
    auto const size = static_cast<Eigen::Index>(count), block = static_cast<Eigen::Index>(block_);
    Eigen::MatrixXcd result(size, size);
    moved_.copy_from(start);
    hamiltonian_.apply(velocity_x_, moved_, beginning_);
    right_.start(start);
    for (Eigen::Index n = 0; n < size; n += block) {
        auto const some_n = std::min(block, size - n);
        for (Eigen::Index k = 0; k < some_n; ++k) {
            if (n + k > 0) right_.step();
            hamiltonian_.apply(velocity_y_, right_.current(), moved_);
            put(moved_, static_cast<std::size_t>(k), rights_);
        }
        left_.start(beginning_);
        for (Eigen::Index m = 0; m < size; m += block) {
            auto const some_m = std::min(block, size - m);
            for (Eigen::Index k = 0; k < some_m; ++k) {
                if (m + k > 0) left_.step();
                put(left_.current(), static_cast<std::size_t>(k), lefts_);
            }
            // All four products of real and imaginary parts at once.
            Eigen::MatrixXd const products = lefts_.transpose() * rights_;
            for (Eigen::Index b = 0; b < some_n; ++b) {
                for (Eigen::Index a = 0; a < some_m; ++a) {
                    result(m + a, n + b) = {products(a, b) + products(a + block, b + block),
                                            products(a, b + block) - products(a + block, b)};
                }
            }
        }
    }
    hamiltonian_.strips().sum({reinterpret_cast<double*>(result.data()), static_cast<std::size_t>(2 * size * size)});
    return result;
}

} // namespace quantum_hall
