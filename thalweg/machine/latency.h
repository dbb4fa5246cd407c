// Measures how long a cache line takes from one core to another, by sending it to and fro.
#pragma once

#include <cstdint>
#include <vector>

namespace thalweg::machine {

// Returns one value per round: nanoseconds one way, averaged over `exchanges` of one cache line there and back. Throws
// base::UsageError if both cores are the same, base::SystemError if a core may not be used.
std::vector<double> latency_ns(std::uint32_t first, std::uint32_t second, std::uint32_t rounds,
                               std::uint32_t exchanges = 1000);

} // namespace thalweg::machine
