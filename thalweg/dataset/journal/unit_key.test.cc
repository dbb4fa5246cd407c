// The places of keys in the table of work units: how many are in one place, and which are neighbours.
#include "thalweg/dataset/journal/unit_key.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kPlaces = 1 << 20;

std::uint64_t place_of(UnitKey const& key) { return key.hash() % kPlaces; }

// Returns the largest number of keys in one place, of `count` keys that are given by their numbers.
template <class KeyOf> std::uint64_t most_in_one_place(std::uint64_t count, KeyOf key_of) {
    std::vector<std::uint64_t> counts(kPlaces);
    for (std::uint64_t i = 0; i < count; ++i) ++counts[place_of(key_of(i))];
    return std::ranges::max(counts);
}

TEST(PlacesOfKeys, AreDistinctForConsecutiveIntegers) {
    for (std::int64_t const block : {0, 1, 2, 1000, -1, -7}) {
        auto const first = block * static_cast<std::int64_t>(kPlaces);
        EXPECT_EQ(most_in_one_place(kPlaces, [&](auto i) { return UnitKey(first + static_cast<std::int64_t>(i)); }), 1u)
            << block;
    }
    for (std::int64_t const first : {std::int64_t{500'000}, std::numeric_limits<std::int64_t>::min() + 5})
        EXPECT_LE(most_in_one_place(kPlaces, [&](auto i) { return UnitKey(first + static_cast<std::int64_t>(i)); }), 2u)
            << first;
}

// 64 bytes are 16 places, and 4 KiB are 1024.
TEST(PlacesOfKeys, AreInTheSamePageAndInAnotherLineForTheNextInteger) {
    std::uint64_t pages_left = 0;
    for (std::int64_t key = 0; key < 100'000; ++key) {
        auto const here = place_of(key);
        auto const next = place_of(key + 1);
        EXPECT_NE(here / 16, next / 16) << key;
        pages_left += here / 1024 != next / 1024 ? 1 : 0;
    }
    EXPECT_EQ(pages_left, 100'000u / 1024);
}

// A million keys that were not chosen for the table, in a million places: chance gives some place eight or nine of
// them.
TEST(PlacesOfKeys, AreAsFewTimesTheSameAsByChance) {
    constexpr std::uint64_t kKeys = 1 << 20;
    for (int shift = 1; shift <= 40; ++shift) {
        auto const key_of = [&](std::uint64_t i) { return UnitKey(static_cast<std::int64_t>(i << shift)); };
        EXPECT_LE(most_in_one_place(kKeys, key_of), 12u) << "multiples of 2^" << shift;
    }
    for (std::uint64_t const step : {3u, 10u, 1000u, 1023u, 1025u, 12345u, 1'000'000u}) {
        auto const key_of = [&](std::uint64_t i) { return UnitKey(static_cast<std::int64_t>(i * step)); };
        EXPECT_LE(most_in_one_place(kKeys, key_of), 12u) << "multiples of " << step;
    }
    for (std::uint64_t const events : {100u, 1000u, 10'000u, 100'000u}) {
        auto const run_and_event = [&](std::uint64_t i) {
            return UnitKey(static_cast<std::int64_t>((300'000 + i / events) << 32 | i % events));
        };
        EXPECT_LE(most_in_one_place(kKeys, run_and_event), 12u) << events << " events of each run";
    }
    EXPECT_LE(most_in_one_place(kKeys, [](auto i) { return UnitKey("file-" + std::to_string(i)); }), 12u);
}

} // namespace
} // namespace thalweg::dataset
