#include "thalweg/base/exact_text.h"

#include <array>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "thalweg/base/units.h"

namespace thalweg::base {
namespace {

// The largest unit of which the value is a multiple. Units come in falling order, the last is 1.
template <std::size_t N>
std::string exact(std::uint64_t value, std::array<std::pair<std::string_view, std::uint64_t>, N> const& units) {
    for (auto const& [name, factor] : units) {
        if (value >= factor && value % factor == 0) return fmt::format("{} {}", value / factor, name);
    }
    return fmt::format("{} {}", value, units.back().first);
}

} // namespace

std::string exact_size(std::uint64_t size_bytes) {
    return exact<5>(size_bytes, {{{"TiB", 1024 * kGiB}, {"GiB", kGiB}, {"MiB", kMiB}, {"KiB", kKiB}, {"B", 1}}});
}

std::string exact_duration(std::uint64_t duration_ns) {
    return exact<6>(duration_ns, {{{"h", 3'600'000'000'000},
                                   {"min", 60'000'000'000},
                                   {"s", 1'000'000'000},
                                   {"ms", 1'000'000},
                                   {"us", 1'000},
                                   {"ns", 1}}});
}

} // namespace thalweg::base
