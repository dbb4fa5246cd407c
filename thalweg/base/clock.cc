#include "thalweg/base/clock.h"

#include <cerrno>
#include <ctime>
#include <fmt/format.h>

#include "thalweg/base/stand_in.h"

namespace thalweg::base {
namespace {

std::uint64_t read_clock_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace

std::uint64_t monotonic_ns() { return stand_in == nullptr ? read_clock_ns(CLOCK_MONOTONIC) : stand_in->monotonic_ns(); }

std::uint64_t thread_cpu_ns() {
    return stand_in == nullptr ? read_clock_ns(CLOCK_THREAD_CPUTIME_ID) : stand_in->monotonic_ns();
}

void sleep_ns(std::uint64_t duration_ns) {
    if (stand_in != nullptr) return stand_in->sleep_ns(duration_ns);
    timespec rest{static_cast<time_t>(duration_ns / 1'000'000'000u), static_cast<long>(duration_ns % 1'000'000'000u)};
    while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR) {
    }
}

std::uint64_t unix_seconds() {
    return stand_in == nullptr ? static_cast<std::uint64_t>(std::time(nullptr)) : stand_in->unix_seconds();
}

std::string utc_now() {
    if (stand_in != nullptr) return stand_in->utc_now();
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    std::tm parts{};
    ::gmtime_r(&now.tv_sec, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1000);
}

} // namespace thalweg::base
