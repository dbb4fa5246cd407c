#pragma once

#include <cstdint>
#include <string>

namespace thalweg::base {

// CLOCK_MONOTONIC: the same in all processes of one machine, never steps. All intervals are measured with it.
std::uint64_t monotonic_ns();

// CPU time of the calling thread.
std::uint64_t thread_cpu_ns();

// At least so long.
void sleep_ns(std::uint64_t duration_ns);

// "2026-11-20T10:00:00.123456Z": only ever written down, never compared.
std::string utc_now();

// Seconds since 1970, UTC: only ever written down, too.
std::uint64_t unix_seconds();

} // namespace thalweg::base
