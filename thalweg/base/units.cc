#include "thalweg/base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>
#include <vector>

#include "thalweg/base/error.h"

namespace thalweg::base {
namespace {

using Suffix = std::pair<std::string_view, double>;

constexpr double kMost = 1.8e19; // fits into 64 bits

template <std::size_t N>
double parse(std::string_view text, std::array<Suffix, N> const& suffixes, char const* what, char const* example) {
    double number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
    while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
    if (error == std::errc{} && std::isfinite(number) && number >= 0) {
        for (auto const& [name, factor] : suffixes) {
            if (unit == name && number * factor < kMost) return number * factor;
        }
    }
    fail_usage({fmt::format("'{}' is not a {}", text, what), "", fmt::format("write it like {}", example)});
}

constexpr std::array<Suffix, 14> kSizes{{{"", 1},
                                         {"B", 1},
                                         {"kB", 1e3},
                                         {"KB", 1e3},
                                         {"MB", 1e6},
                                         {"GB", 1e9},
                                         {"TB", 1e12},
                                         {"k", 1e3},
                                         {"M", 1e6},
                                         {"G", 1e9},
                                         {"KiB", 1024.0},
                                         {"MiB", 1048576.0},
                                         {"GiB", 1073741824.0},
                                         {"TiB", 1099511627776.0}}};

constexpr std::array<Suffix, 8> kDurations{
    {{"", 1e9}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}}};

constexpr char const* kDurationExample = "10s, 500ms, 2h or 1h30m";

[[noreturn]] void fail_duration(std::string_view text) {
    fail_usage({fmt::format("'{}' is not a duration", text), "", fmt::format("write it like {}", kDurationExample)});
}

// The numbers and units of a text such as "1h 30min"; none if it is not made of them.
std::vector<std::pair<double, std::string_view>> parts_of(std::string_view text) {
    std::vector<std::pair<double, std::string_view>> parts;
    auto const skip = [&text](auto const& is_skipped) {
        auto const end = std::ranges::find_if_not(text, is_skipped);
        auto const skipped = text.substr(0, static_cast<std::size_t>(end - text.begin()));
        text.remove_prefix(skipped.size());
        return skipped;
    };
    auto const is_space = [](char each) { return each == ' '; };
    while (!text.empty()) {
        double number = 0;
        auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc{} || !std::isfinite(number) || number < 0) return {};
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        skip(is_space);
        parts.emplace_back(number, skip([](char each) { return each >= 'a' && each <= 'z'; }));
        skip(is_space);
    }
    return parts;
}

} // namespace

std::uint64_t parse_size_bytes(std::string_view text) {
    return static_cast<std::uint64_t>(parse(text, kSizes, "size", "64MiB or 2GB"));
}

std::uint64_t parse_duration_ns(std::string_view text) {
    auto const parts = parts_of(text);
    if (parts.size() < 2) return static_cast<std::uint64_t>(parse(text, kDurations, "duration", kDurationExample));
    double sum_ns = 0, before_ns = std::numeric_limits<double>::infinity();
    for (auto const& [number, unit] : parts) {
        auto const* const known = std::ranges::find(kDurations, unit, &Suffix::first);
        auto const unit_ns = unit == "m" ? 60e9 : known == kDurations.end() || unit.empty() ? 0 : known->second;
        if (unit_ns == 0 || unit_ns >= before_ns) fail_duration(text);
        sum_ns += number * unit_ns;
        before_ns = unit_ns;
    }
    if (sum_ns >= kMost) fail_duration(text);
    return static_cast<std::uint64_t>(sum_ns);
}

std::string format_bytes(double bytes) {
    constexpr std::array<char const*, 6> kNames{"B", "kB", "MB", "GB", "TB", "PB"};
    std::size_t step = 0;
    while (bytes >= 999.5 && step + 1 < kNames.size()) {
        bytes /= 1000;
        ++step;
    }
    return step == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, kNames[step]);
}

} // namespace thalweg::base
