#include <fmt/format.h>
#include <string_view>

#include "thalweg/base/error.h"
#include "thalweg/features/extractor.h"

namespace thalweg::features {
namespace {

void require_feature(bool condition, std::string_view problem, std::string_view why) {
    if (!condition) base::fail_usage({fmt::format("features of pulses: {}", problem), std::string(why)});
}

} // namespace

void check(FeatureOptions const& options) {
    require_feature(options.bits >= 1 && options.bits <= 16, fmt::format("an ADC of {} bits", options.bits),
                    "1 to 16 are possible");
    require_feature(options.baseline_ns >= 0, fmt::format("a baseline of {} ns", options.baseline_ns),
                    "it cannot be negative");
    require_feature(options.gate_begin_ns < options.gate_end_ns,
                    fmt::format("a gate from {} to {} ns", options.gate_begin_ns, options.gate_end_ns),
                    "it ends before it begins");
    require_feature(options.fraction > 0 && options.fraction < 1, fmt::format("a fraction of {}", options.fraction),
                    "it is between 0 and 1");
    require_feature(options.smooth_ns >= 0, fmt::format("an average over {} ns", options.smooth_ns),
                    "it cannot be negative");
    require_feature(options.threshold_adc >= 0 && options.threshold_adc < 65536,
                    fmt::format("a threshold of {} ADC", options.threshold_adc), "it is between 0 and 65,535");
}

} // namespace thalweg::features
