// Random numbers that are a function of seed and place: any rank can draw any of them, in any order, and a checkpoint
// holds no generator (J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11).
#pragma once

#include <cstdint>

namespace quantum_hall {

// The mixing function of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014).
constexpr std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

constexpr std::uint64_t bits(std::uint64_t seed, std::uint64_t place) {
    return mixed(seed * 0xD1342543DE82EF95 + place * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15);
}

// Returns a number in [0, 1), with 53 bits.
constexpr double uniform(std::uint64_t seed, std::uint64_t place) {
    return static_cast<double>(bits(seed, place) >> 11) * 0x1p-53;
}

// Returns the seed of random vector `number`. It is mixed, so that its numbers are no shifted copy of those of another
// seed.
constexpr std::uint64_t seed_of_vector(std::uint64_t seed, std::uint64_t number) {
    return bits(~seed, number + 0x8000000000000000);
}

} // namespace quantum_hall
