#pragma once

#include <cstdint>
#include <string>

namespace thalweg::base {

// CLOCK_MONOTONIC: the same in all processes of one machine, never steps. All intervals are measured with it.
std::uint64_t monotonic_ns();

// CPU time of the calling thread.
std::uint64_t thread_cpu_ns();

// "2026-11-20T10:00:00.123456Z": only ever written down, never compared.
std::string utc_now();

} // namespace thalweg::base
