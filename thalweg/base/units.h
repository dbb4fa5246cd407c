// Sizes, durations and rates as people write them: "256MiB", "10s", "2.5GB/s".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace thalweg::base {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

inline constexpr std::uint64_t kMsNs = 1'000'000;
inline constexpr std::uint64_t kSecondNs = 1000 * kMsNs;

// What O_DIRECT asks of every device we know, and the size of a page of memory.
inline constexpr std::uint64_t kBlockBytes = 4096;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t multiple) { return value / multiple * multiple; }

// Bytes; decimal (kB, MB, GB, TB) and binary (KiB, MiB, GiB, TiB) suffixes, or none. Throws UsageError.
std::uint64_t parse_size_bytes(std::string_view text);

// Nanoseconds; suffixes ns, us, ms, s, min, h, d; without one: seconds; several add up ("1h30m"). Throws UsageError.
std::uint64_t parse_duration_ns(std::string_view text);

// "1.50 GB", in decimal units as storage vendors and the field use them.
std::string format_bytes(double bytes);

} // namespace thalweg::base
