#include "kernel.h"

#include <cmath>
#include <numbers>

namespace quantum_hall {

std::vector<double> jackson(std::size_t count) {
    std::vector<double> factors(count);
    auto const angle = std::numbers::pi / static_cast<double>(count + 1);
    for (std::size_t m = 0; m < count; ++m) {
        auto const turn = angle * static_cast<double>(m);
        factors[m] = (static_cast<double>(count - m + 1) * std::cos(turn) + std::sin(turn) / std::tan(angle)) /
                     static_cast<double>(count + 1);
    }
    return factors;
}

std::vector<double> nodes(std::size_t count) {
    std::vector<double> result(count);
    for (std::size_t k = 0; k < count; ++k) {
        result[k] = -std::cos(std::numbers::pi * (static_cast<double>(k) + 0.5) / static_cast<double>(count));
    }
    return result;
}

double density(std::span<double const> moments, std::span<double const> kernel, double x, double half_width) {
    double sum = moments[0] * kernel[0], before = 1, polynomial = x;
    for (std::size_t m = 1; m < moments.size(); ++m) {
        sum += 2 * kernel[m] * moments[m] * polynomial;
        auto const next = 2 * x * polynomial - before;
        before = polynomial;
        polynomial = next;
    }
    return sum / (std::numbers::pi * half_width * std::sqrt(1 - x * x));
}

} // namespace quantum_hall
