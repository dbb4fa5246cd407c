#include "evolve.h"

#include <cmath>
#include <utility>

namespace quantum_hall {

// Downwards from an order where they vanish, which is stable, scaled by J_0 + 2 J_2 + 2 J_4 + ... = 1
// (J. C. P. Miller; F. W. J. Olver, NIST Handbook of Mathematical Functions, 10.74 iv).
std::vector<double> bessel_functions(double x) {
    auto const top = 2 * (static_cast<std::size_t>(x + 20 * std::cbrt(x + 1)) / 2) + 40;
    std::vector<double> values(top + 2);
    values[top] = 1e-300;
    double sum = 0;
    for (std::size_t n = top; n > 0; --n) {
        values[n - 1] = x == 0 ? (n == 1 ? 1 : 0) : 2 * static_cast<double>(n) / x * values[n] - values[n + 1];
        if (n % 2 == 1) sum += (n == 1 ? 1 : 2) * values[n - 1];
        if (std::abs(values[n - 1]) > 1e200) {
            for (std::size_t k = n - 1; k <= top; ++k) values[k] *= 1e-200;
            sum *= 1e-200;
        }
    }
    for (auto& value : values) value /= sum;
    while (values.size() > 1 && std::abs(values.back()) < 1e-18) values.pop_back();
    return values;
}

Evolution::Evolution(Hamiltonian const& hamiltonian, double time_step)
    : hamiltonian_(hamiltonian), once_(scaled(hamiltonian.system(), 1)),
      commutator_once_(commutator(hamiltonian.system(), 1)), commutator_twice_(commutator(hamiltonian.system(), 2)),
      polynomial_(hamiltonian.system(), hamiltonian.strips()),
      polynomial_before_(hamiltonian.system(), hamiltonian.strips()),
      derivative_(hamiltonian.system(), hamiltonian.strips()),
      derivative_before_(hamiltonian.system(), hamiltonian.strips()) {
    // exp(-i a t h) = J_0(a t) + 2 sum_n (-i)^n J_n(a t) T_n(h)
    // (H. Tal-Ezer, R. Kosloff, J. Chem. Phys. 81, 3967 (1984)).
    Complex power = 1;
    for (auto const bessel : bessel_functions(hamiltonian.system().half_width() * time_step)) {
        coefficients_.push_back((coefficients_.empty() ? 1.0 : 2.0) * power * bessel);
        power *= Complex(0, -1);
    }
}

// With alpha_n = T_n psi and beta_n = T_n xi + [X, T_n] psi, which is [X, T_n U(t)] on the wave function of time 0:
//   beta_0 = xi, beta_1 = h beta_0 + [X, h] alpha_0, beta_{n+1} = 2 h beta_n + 2 [X, h] alpha_n - beta_{n-1}.
void Evolution::step(Wave& psi, Wave& xi) {
    polynomial_.copy_from(psi);
    derivative_.copy_from(xi);
    psi.fill(0);
    xi.fill(0);
    for (std::size_t n = 0; n < coefficients_.size(); ++n) {
        psi.add(coefficients_[n], polynomial_);
        xi.add(coefficients_[n], derivative_);
        if (n + 1 == coefficients_.size()) break;
        auto const next = [&](Wave& from, Wave& to) {
            n == 0 ? hamiltonian_.apply(once_, from, to) : hamiltonian_.recur(from, to);
        };
        next(derivative_, derivative_before_);
        hamiltonian_.add(n == 0 ? commutator_once_ : commutator_twice_, polynomial_, derivative_before_);
        next(polynomial_, polynomial_before_);
        std::swap(derivative_, derivative_before_);
        std::swap(polynomial_, polynomial_before_);
    }
}

} // namespace quantum_hall
