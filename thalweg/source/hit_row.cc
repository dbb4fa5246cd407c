#include "thalweg/source/hit_row.h"

#include <algorithm>
#include <cmath>

#include "thalweg/base/assert.h"

namespace thalweg::source {

void HitRow::show(Trigger const& trigger, Batch& batch) {
    auto const pulse = pool_->index_of(trigger.hit.energy_kev);
    timestamp_ps_ = trigger.hit.time_ps;
    columns_[1] = bytes_of(pool_->t0_ns(pulse));
    columns_[3] = std::as_bytes(samples_of(trigger, pulse));
    batch = {.rows = 1, .columns = columns_};
}

std::span<std::uint16_t const> HitRow::samples_of(Trigger const& trigger, std::size_t pulse) {
    auto const values = pool_->values(pulse);
    if (trigger.piled_up.empty()) return values;
    samples_.assign(values.begin(), values.end());
    for (auto const& later : trigger.piled_up) add(trigger, pulse, later);
    return samples_;
}

// Both pulses begin somewhere between two samples; the later one is moved by whole samples, so its beginning is right
// to half a sample. Its noise is added from there on, too.
void HitRow::add(Trigger const& trigger, std::size_t pulse, Hit const& later) {
    auto const other = pool_->index_of(later.energy_kev);
    auto const after_ns = static_cast<double>(later.time_ps - trigger.hit.time_ps) * 1e-3;
    auto const shift_ns = after_ns - (static_cast<double>(pool_->t0_ns(pulse)) - pool_->t0_ns(other));
    auto const shift = static_cast<std::size_t>(std::max(0L, std::lround(shift_ns / dt_ns_)));
    auto const begin = static_cast<std::size_t>(-pool_->t0_ns(other) / dt_ns_);
    auto const values = pool_->values(other);
    for (auto i = begin; i + shift < samples_.size(); ++i) {
        auto const level = static_cast<float>(samples_[i + shift]) + static_cast<float>(values[i]) - baseline_adc_;
        samples_[i + shift] = static_cast<std::uint16_t>(std::clamp(level + 0.5f, 0.0f, PulsePool::kFullScale));
    }
}

} // namespace thalweg::source
