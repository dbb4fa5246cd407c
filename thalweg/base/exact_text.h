// Sizes and durations as texts that lose nothing.
#pragma once

#include <cstdint>
#include <string>

namespace thalweg::base {

// "64 MiB", "500 ms": the largest unit that leaves the value as it is, so that parsing gives it back exactly.
std::string exact_size(std::uint64_t size_bytes);
std::string exact_duration(std::uint64_t duration_ns);

} // namespace thalweg::base
