#include "kubo.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernel.h"

namespace quantum_hall {

std::vector<double> bounds_between_nodes(std::size_t points) {
    std::vector<double> bounds(points);
    for (std::size_t k = 0; k < points; ++k) {
        bounds[k] = -std::cos(std::numbers::pi * static_cast<double>(k + 1) / static_cast<double>(points));
    }
    return bounds;
}

// sigma(x) = 8 / (A a^2) int_{-1}^x dx' (1 - x'^2)^-2 sum_mn mu_mn Gamma_mn(x'), where
//   Gamma_mn = (x - i n sqrt(1 - x^2)) exp(i n arccos x) T_m(x) + (x + i m sqrt(1 - x^2)) exp(-i m arccos x) T_n(x)
// (Garcia, Covaci, Rappoport, eqs. 5 and 6; half_width a, area A). Exchanging m and n conjugates Gamma, so with the
// Hermitian part of mu, which is all that a trace has, the sum is twice the real part of its first half.
std::vector<double> hall_conductivity(System const& system, Eigen::MatrixXcd const& moments, std::size_t count,
                                      std::size_t points) {
    auto const size = static_cast<Eigen::Index>(count), all = static_cast<Eigen::Index>(points);
    auto weights = jackson(count);
    weights[0] /= 2;
    auto const g = Eigen::Map<Eigen::VectorXd const>(weights.data(), size);
    Eigen::MatrixXcd const part = moments.topLeftCorner(size, size);
    Eigen::MatrixXcd const hermitian = (part + part.adjoint()) / 2;
    auto const x = nodes(points);
    Eigen::MatrixXcd waves(size, all); // (x - i n sqrt(1 - x^2)) exp(i n arccos x)
    Eigen::MatrixXd polynomials(size, all);
    for (Eigen::Index k = 0; k < all; ++k) {
        auto const angle = std::acos(x[static_cast<std::size_t>(k)]), sine = std::sin(angle), cosine = std::cos(angle);
        for (Eigen::Index n = 0; n < size; ++n) {
            auto const order = static_cast<double>(n);
            waves(n, k) = g(n) * Complex(cosine, -order * sine) * std::polar(1.0, order * angle);
            polynomials(n, k) = g(n) * std::cos(order * angle);
        }
    }
    // A real T only needs real products.
    Eigen::MatrixXd const sums = hermitian.real() * waves.real() - hermitian.imag() * waves.imag();
    auto const factor = 8 / (system.area() * system.half_width() * system.half_width());
    std::vector<double> sigma(points);
    double integral = 0;
    for (Eigen::Index k = 0; k < all; ++k) {
        auto const square = 1 - x[static_cast<std::size_t>(k)] * x[static_cast<std::size_t>(k)];
        auto const integrand = 2 * polynomials.col(k).dot(sums.col(k)) / (square * square);
        integral += integrand * std::sqrt(square) * std::numbers::pi / static_cast<double>(points);
        sigma[static_cast<std::size_t>(k)] = factor * integral;
    }
    return sigma;
}

std::vector<double> hall_curve(System const& system, Eigen::MatrixXcd const& moments) {
    auto const count = static_cast<std::size_t>(moments.rows());
    auto curve = hall_conductivity(system, moments, count, 2 * count);
    auto const half = hall_conductivity(system, moments, count / 2, 2 * count);
    for (std::size_t k = 0; k < curve.size(); ++k) curve[k] = extrapolated(curve[k], half[k]);
    return curve;
}

double interpolated(std::vector<double> const& x, std::vector<double> const& values, double where) {
    auto const above = std::ranges::upper_bound(x, where);
    if (above == x.begin()) return values.front();
    if (above == x.end()) return values.back();
    auto const k = static_cast<std::size_t>(above - x.begin());
    auto const share = (where - x[k - 1]) / (x[k] - x[k - 1]);
    return values[k - 1] + share * (values[k] - values[k - 1]);
}

} // namespace quantum_hall
