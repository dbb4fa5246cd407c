// Hahnfeld's events, as Thalweg's driver draws them (studies/driver/events.cc).
#pragma once

#include <cstdint>
#include <random>
#include <vector>

constexpr std::uint64_t kBatchEvents = 8192, kMeanParticles = 5;
constexpr std::uint64_t kEventBytes = 8 + 8 + 4 * kMeanParticles; // id, length, energies: mean size

// Returns the energies of a batch of events.
template <class Particles> std::vector<Particles> draw(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::poisson_distribution<std::uint64_t> length(kMeanParticles);
    std::uniform_real_distribution<float> energy(0, 100);
    std::vector<Particles> events(kBatchEvents);
    for (auto& event : events) event.resize(length(random));
    for (auto& event : events) {
        for (auto& each : event) each = energy(random);
    }
    return events;
}
