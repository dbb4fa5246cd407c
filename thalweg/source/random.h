// Random numbers that are the same on all machines for the same seed: no standard distribution promises that.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace thalweg::source {

// SplitMix64: every state is a good seed, including 0, 1, 2, ..., so every decay can have a sequence of its own.
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
    // Returns a number in (0, 1], so that its logarithm is finite.
    double uniform() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }
    double exponential() { return -std::log(uniform()); }
    // Returns two independent normally distributed numbers.
    std::pair<double, double> normals() {
        auto const radius = std::sqrt(2 * exponential());
        auto const angle = 2 * std::numbers::pi * uniform();
        return {radius * std::cos(angle), radius * std::sin(angle)};
    }
    // Returns a number below `count`, which is below 2^32.
    std::uint32_t index(std::uint32_t count) { return static_cast<std::uint32_t>(((bits() >> 32) * count) >> 32); }

  private:
    std::uint64_t state_;
};

// Makes millions of normally distributed numbers: 14 random bits choose a quantile.
class NormalTable {
  public:
    static constexpr unsigned kBits = 14;

    NormalTable();
    float operator[](std::uint64_t bits) const { return quantiles_[bits & ((1u << kBits) - 1)]; }

  private:
    std::vector<float> quantiles_;
};

} // namespace thalweg::source
