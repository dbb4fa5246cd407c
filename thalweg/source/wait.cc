#include "thalweg/source/wait.h"

#include <ctime>

namespace thalweg::source {

void sleep_until(std::uint64_t time_ns) {
    timespec const time{.tv_sec = static_cast<std::time_t>(time_ns / 1'000'000'000u),
                        .tv_nsec = static_cast<long>(time_ns % 1'000'000'000u)};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

} // namespace thalweg::source
