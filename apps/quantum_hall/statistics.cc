#include "statistics.h"

#include <cmath>

namespace quantum_hall {

Estimate estimate(Trace const& trace, System const& system, std::span<double const> samples, std::size_t length) {
    Estimate result{std::vector<double>(length), {}};
    auto const count = samples.size() / length;
    auto const weight = trace.weight(system);
    for (std::size_t k = 0; k < count; ++k) {
        for (std::size_t i = 0; i < length; ++i) result.value[i] += weight * samples[k * length + i];
    }
    if (trace.kind != TraceKind::random || count < 2) return result;
    result.error.resize(length);
    for (std::size_t i = 0; i < length; ++i) {
        double squares = 0;
        for (std::size_t k = 0; k < count; ++k) squares += std::pow(samples[k * length + i] - result.value[i], 2);
        result.error[i] = std::sqrt(squares / static_cast<double>(count * (count - 1)));
    }
    return result;
}

} // namespace quantum_hall
