#include "chebyshev.h"

#include <utility>

namespace quantum_hall {

Recurrence::Recurrence(Hamiltonian const& hamiltonian)
    : hamiltonian_(hamiltonian), once_(scaled(hamiltonian.system(), 1)),
      current_(hamiltonian.system(), hamiltonian.strips()), previous_(hamiltonian.system(), hamiltonian.strips()) {}

void Recurrence::start(Wave const& wave) {
    current_.copy_from(wave);
    at_zero_ = true;
}

Sums Recurrence::step() {
    auto const sums =
        at_zero_ ? hamiltonian_.apply(once_, current_, previous_) : hamiltonian_.recur(current_, previous_);
    std::swap(current_, previous_);
    at_zero_ = false;
    return sums;
}

std::vector<double> moments(Recurrence& recurrence, Strips const& strips, Wave const& start, std::size_t count) {
    std::vector<double> sums(count + 2);
    sums[0] = inner_product(strips, start, start).real() / Strips::ranks(); // each rank adds its part
    recurrence.start(start);
    for (std::size_t m = 1; 2 * m - 1 < count; ++m) {
        auto const products = recurrence.step();
        sums[2 * m - 1] = products.overlap;
        sums[2 * m] = products.norm;
    }
    strips.sum(sums); // once, so that no step waits for all ranks
    for (std::size_t m = count; m-- > 2;) sums[m] = 2 * sums[m] - sums[m % 2];
    sums.resize(count);
    return sums;
}

} // namespace quantum_hall
