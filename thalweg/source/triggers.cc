#include "thalweg/source/triggers.h"

#include "thalweg/base/assert.h"
#include "thalweg/source/digitizer_options.h"

namespace thalweg::source {
namespace {

double record_s(DigitizerOptions const& options) { return options.record_samples / options.sample_rate_hz; }

// Returns the hit rate that leaves the requested record rate after pile-up.
double hits_per_s(DigitizerOptions const& options) {
    auto const records = records_per_s(options);
    return records / (1 - records * record_s(options));
}

} // namespace

Triggers::Triggers(DigitizerOptions const& options, std::uint32_t channel)
    : hits_(options, hits_per_s(options), channel), record_ps_(static_cast<std::uint64_t>(1e12 * record_s(options))),
      end_ps_(options.duration_ns * 1000), has_samples_(options.waveforms) {}

Trigger Triggers::take() {
    Trigger trigger{hits_.peek(), {}};
    auto const end_ps = trigger.hit.time_ps + record_ps_;
    for (hits_.pop(); hits_.peek().time_ps < end_ps; hits_.pop()) {
        ++piled_up_;
        if (has_samples_) trigger.piled_up.push_back(hits_.peek());
    }
    THALWEG_ASSERT(hits_.peek().time_ps >= end_ps, "records of a channel do not overlap");
    return trigger;
}

void Triggers::skip_until(std::uint64_t time_ps) {
    while (hits_.peek().time_ps < time_ps) hits_.pop();
}

} // namespace thalweg::source
