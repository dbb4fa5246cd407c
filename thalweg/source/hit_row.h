#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "thalweg/source/pulse_pool.h"
#include "thalweg/source/source.h"
#include "thalweg/source/triggers.h"

namespace thalweg::source {

// Shows a trigger as a batch of one row: its pulse stays in the pool. Only a record with several pulses is put together
// here.
class HitRow {
  public:
    HitRow(DigitizerOptions const& options, std::shared_ptr<PulsePool const> pool)
        : pool_(std::move(pool)), dt_ns_(static_cast<float>(1e9 / options.sample_rate_hz)),
          baseline_adc_(static_cast<float>(options.baseline_adc)), columns_{bytes_of(timestamp_ps_),
                                                                            {},
                                                                            bytes_of(dt_ns_),
                                                                            {}} {}
    HitRow(HitRow const&) = delete; // its columns point into it

    void show(Trigger const& trigger, Batch& batch);

  private:
    template <typename Value> static std::span<std::byte const> bytes_of(Value const& value) {
        return std::as_bytes(std::span(&value, 1));
    }
    std::span<std::uint16_t const> samples_of(Trigger const& trigger, std::size_t pulse);
    void add(Trigger const& trigger, std::size_t pulse, Hit const& later);

    std::shared_ptr<PulsePool const> pool_;
    std::uint64_t timestamp_ps_ = 0;
    float dt_ns_;
    float baseline_adc_;
    std::vector<std::uint16_t> samples_;                // of a record with several pulses
    std::array<std::span<std::byte const>, 4> columns_; // timestamp, waveform/t0, waveform/dt, waveform/values
};

// Shows triggers without their samples, many at once.
class HitList {
  public:
    void clear() { times_ps_.clear(), energies_kev_.clear(); }
    void add(Hit const& hit) {
        times_ps_.push_back(hit.time_ps);
        energies_kev_.push_back(static_cast<float>(hit.energy_kev));
    }
    std::size_t rows() const { return times_ps_.size(); }
    void show(Batch& batch) {
        columns_ = {std::as_bytes(std::span(times_ps_)), std::as_bytes(std::span(energies_kev_))};
        batch = {.rows = rows(), .columns = columns_};
    }

  private:
    std::vector<std::uint64_t> times_ps_;
    std::vector<float> energies_kev_;
    std::array<std::span<std::byte const>, 2> columns_; // timestamp, energy
};

} // namespace thalweg::source
