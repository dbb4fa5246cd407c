#include "lattice.h"

#include <array>
#include <cmath>
#include <numbers>

#include <thalweg/base/error.h>
#include <thalweg/base/near_miss.h>

#include "random.h"

namespace quantum_hall {

namespace {

double const kRoot3 = std::sqrt(3.0);

// a1 = sqrt(3) (1, 0), a2 = sqrt(3) (1/2, sqrt(3)/2), B = A + (0, 1); the third bond alone carries the phase.
Lattice const kHoneycomb{
    "honeycomb",
    2,
    1.5 * kRoot3,
    3,
    {{0, 1, 0, 0, false, 0, 1}, {0, 1, 0, -1, false, -kRoot3 / 2, -0.5}, {0, 1, 1, -1, true, kRoot3 / 2, -0.5}}};
Lattice const kSquare{"square", 1, 1, 4, {{0, 0, 1, 0, true, 1, 0}, {0, 0, 0, 1, false, 0, 1}}};

} // namespace

Lattice const& lattice_named(std::string_view name) {
    for (auto const* lattice : {&kHoneycomb, &kSquare}) {
        if (lattice->name == name) return *lattice;
    }
    static constexpr std::array<std::string_view, 2> names{"honeycomb", "square"};
    thalweg::base::fail_usage({"there is no lattice '" + std::string(name) + "'", "", //
                               thalweg::base::suggest(name, names)});
}

Complex System::phase(std::int64_t row) const {
    // Whole turns are subtracted as integers, so the phase is as exact in the last row as in the first.
    auto const turns = ((flux_quanta * row) % rows + rows) % rows;
    return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(turns) / static_cast<double>(rows));
}

double System::potential(std::int64_t site) const {
    return disorder * (uniform(seed, static_cast<std::uint64_t>(site)) - 0.5);
}

} // namespace quantum_hall
