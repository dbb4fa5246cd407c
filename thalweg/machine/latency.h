// How long a cache line takes from one core to another, measured by sending it to and fro.
#pragma once

#include <cstdint>
#include <vector>

namespace thalweg::machine {

// One value a round: nanoseconds one way, on average over `exchanges` of one cache line there and back. Throws
// base::UsageError for a core and itself, base::SystemError where a core may not be used.
std::vector<double> latency_ns(std::uint32_t first, std::uint32_t second, std::uint32_t rounds,
                               std::uint32_t exchanges = 1000);

} // namespace thalweg::machine
