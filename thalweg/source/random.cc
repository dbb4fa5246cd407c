#include "thalweg/source/random.h"

namespace thalweg::source {

// The quantiles are computed from the middle outwards. The distribution function is concave there, so Newton's steps
// from one quantile to the next never overshoot.
NormalTable::NormalTable() : quantiles_(std::size_t{1} << kBits) {
    auto const half = quantiles_.size() / 2;
    double x = 0;
    for (std::size_t i = 0; i < half; ++i) {
        auto const probability = 0.5 + (static_cast<double>(i) + 0.5) / static_cast<double>(quantiles_.size());
        for (double step = 1; step > 1e-7;) {
            auto const density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
            step = (probability - 0.5 * std::erfc(-x / std::numbers::sqrt2)) / density;
            x += step;
        }
        quantiles_[half + i] = static_cast<float>(x);
        quantiles_[half - 1 - i] = static_cast<float>(-x);
    }
}

} // namespace thalweg::source
