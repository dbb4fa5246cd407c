#pragma once

#include <sys/resource.h>

#include "thalweg/base/clock.h"

namespace thalweg::study {

inline double seconds_since(std::uint64_t begin_ns) {
    return static_cast<double>(base::monotonic_ns() - begin_ns) * 1e-9;
}

// Returns user and system time of all threads of this process, including those that the kernel runs for its writes.
inline double process_cpu_s() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    auto const seconds = [](timeval const& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

} // namespace thalweg::study
