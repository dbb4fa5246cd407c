#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "thalweg/source/pulse_pool.h"
#include "thalweg/source/source.h"
#include "thalweg/source/triggers.h"

namespace thalweg::source {

// Shows a hit as a batch of one row: its pulse stays in the pool.
class HitRow {
  public:
    HitRow(DigitizerOptions const& options, std::shared_ptr<PulsePool const> pool)
        : pool_(std::move(pool)),
          dt_ns_(static_cast<float>(1e9 / options.sample_rate_hz)), columns_{bytes_of(timestamp_ps_),
                                                                             {},
                                                                             bytes_of(dt_ns_),
                                                                             {}} {}
    HitRow(HitRow const&) = delete; // its columns point into it

    void show(Hit const& hit, Batch& batch) {
        auto const pulse = pool_->index_of(hit.energy_kev);
        timestamp_ps_ = hit.time_ps;
        columns_[1] = bytes_of(pool_->t0_ns(pulse));
        columns_[3] = std::as_bytes(pool_->values(pulse));
        batch = {.rows = 1, .columns = columns_};
    }

  private:
    template <typename Value> static std::span<std::byte const> bytes_of(Value const& value) {
        return std::as_bytes(std::span(&value, 1));
    }

    std::shared_ptr<PulsePool const> pool_;
    std::uint64_t timestamp_ps_ = 0;
    float dt_ns_;
    std::array<std::span<std::byte const>, 4> columns_; // timestamp, waveform/t0, waveform/dt, waveform/values
};

} // namespace thalweg::source
