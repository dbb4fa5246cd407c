#pragma once

#include <cstdint>

namespace thalweg::source {

// Sleeps until base::monotonic_ns() is `time_ns`, or a signal comes.
void sleep_until(std::uint64_t time_ns);

} // namespace thalweg::source
