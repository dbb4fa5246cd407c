// Digitized pulses, which are made once and handed out by reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/source/digitizer.h"
#include "thalweg/source/random.h"

namespace thalweg::source {

// Pulse number i has the energy (i + 1/2) * step, begins at a random place between two samples, and has noise of its
// own. So energies that differ by the resolution of the crystal get different pulses.
class PulsePool {
  public:
    static constexpr float kFullScale = 1023; // 10 bits

    explicit PulsePool(DigitizerOptions const& options);

    // Returns the last pulse for larger energies: it is clipped anyway.
    std::size_t index_of(double energy_kev) const;
    std::span<std::uint16_t const> values(std::size_t index) const {
        return {values_.data() + index * record_samples_, record_samples_};
    }
    // Returns the time of the first sample relative to the beginning of the pulse.
    float const& t0_ns(std::size_t index) const { return t0_ns_[index]; }

  private:
    std::size_t record_samples_;
    double step_kev_;
    std::vector<std::uint16_t> values_;
    std::vector<float> t0_ns_;
};

} // namespace thalweg::source
