// Random numbers that are the same everywhere for the same seed: none of the standard distributions promises that.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace thalweg::source {

// SplitMix64: each state is a good seed, also 0, 1, 2, ..., so that every decay can have a sequence of its own.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t bits() {
        state_ += 0x9e3779b97f4a7c15;
        auto value = state_;
        value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
        value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
        return value ^ (value >> 31);
    }
    // In (0, 1]: its logarithm is finite.
    double uniform() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }
    double exponential() { return -std::log(uniform()); }
    // Two independent normally distributed numbers.
    std::pair<double, double> normals() {
        auto const radius = std::sqrt(2 * exponential());
        auto const angle = 2 * std::numbers::pi * uniform();
        return {radius * std::cos(angle), radius * std::sin(angle)};
    }
    // Below `count`, which is below 2^32.
    std::uint32_t index(std::uint32_t count) { return static_cast<std::uint32_t>(((bits() >> 32) * count) >> 32); }

  private:
    std::uint64_t state_;
};

// Normally distributed numbers by the million: 14 bits of randomness choose a quantile.
class NormalTable {
  public:
    static constexpr unsigned kBits = 14;

    NormalTable();
    float operator[](std::uint64_t bits) const { return quantiles_[bits & ((1u << kBits) - 1)]; }

  private:
    std::vector<float> quantiles_;
};

} // namespace thalweg::source
