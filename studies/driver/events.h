// The events of Jakob Hahnfeld's benchmarks of RNTuple (hahnjo/rntuple-apps): an id, and a list of energies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/model/schema.h"

namespace thalweg::study {

inline constexpr std::uint64_t kMeanParticles = 5;                       // Poisson
inline constexpr std::uint64_t kEventBytes = 8 + 8 + kMeanParticles * 4; // id, length, energies: mean size

model::Schema event_schema();

struct Events {
    std::vector<std::uint64_t> lengths;
    std::vector<float> energies; // uniform in [0, 100)
};

// Returns the same events for the same seed.
Events draw_events(std::uint64_t count, std::uint64_t seed);

} // namespace thalweg::study
