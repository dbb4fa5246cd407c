#include "thalweg/spectra/coincidences.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "thalweg/base/error.h"

namespace thalweg::spectra {
namespace {

constexpr EnergyWindows kWindows{100, 200, 150, 300}; // they overlap

struct OneHit {
    std::int64_t time_ps = 0;
    float energy = 0;
    std::uint32_t detector = 0;
};

// Half of them are before time 0.
std::vector<OneHit> some_hits(std::size_t count, std::uint32_t detectors, std::int64_t span_ps) {
    std::mt19937_64 random(5);
    std::vector<OneHit> hits;
    for (std::size_t i = 0; i < count; ++i) {
        auto const time_ps = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(span_ps)) - span_ps / 2;
        hits.push_back({time_ps, static_cast<float>(random() % 400), static_cast<std::uint32_t>(random() % detectors)});
    }
    return hits;
}

bool is_start(OneHit const& hit) { return hit.energy >= 100 && hit.energy < 200; }
bool is_stop(OneHit const& hit) { return hit.energy >= 150 && hit.energy < 300; }

std::vector<std::uint64_t> all_pairs(std::vector<OneHit> const& hits, CoincidenceOptions const& options) {
    std::vector<std::uint64_t> histogram(std::size_t{options.detectors} * options.detectors * options.bins);
    for (auto const& start : hits)
        for (auto const& stop : hits) {
            if (&start == &stop || !is_start(start) || !is_stop(stop)) continue;
            if (start.detector == stop.detector && start.time_ps == stop.time_ps) continue;
            auto const since = stop.time_ps - start.time_ps - options.begin_ps;
            if (since < 0 || since >= std::int64_t{options.bin_ps} * options.bins) continue;
            ++histogram[(std::size_t{start.detector} * options.detectors + stop.detector) * options.bins +
                        static_cast<std::size_t>(since) / options.bin_ps];
        }
    return histogram;
}

// Adds hits in parts of `part`, in the order in which they are given, and pairs after each part.
std::vector<std::uint64_t> counted(std::vector<OneHit> const& hits, CoincidenceOptions const& options, std::size_t part,
                                   CoincidenceCounts& counts) {
    Coincidences coincidences(options);
    for (std::size_t begin = 0; begin < hits.size(); begin += part) {
        for (std::uint32_t detector = 0; detector < options.detectors; ++detector) {
            std::vector<std::int64_t> times;
            std::vector<float> energies;
            for (auto i = begin; i < std::min(begin + part, hits.size()); ++i)
                if (hits[i].detector == detector) times.push_back(hits[i].time_ps), energies.push_back(hits[i].energy);
            coincidences.add(detector, kWindows, times, energies, 0);
        }
        coincidences.pair();
    }
    counts = coincidences.counts();
    auto const histogram = coincidences.histogram();
    return {histogram.begin(), histogram.end()};
}

TEST(Coincidences, AreThoseOfAllPairs) {
    auto const hits = some_hits(3000, 4, 3'000'000);
    for (auto const& options : {CoincidenceOptions{4, -20'000, 7, 9'000}, CoincidenceOptions{4, 100, 1000, 3},
                                CoincidenceOptions{4, -5'000, 1, 5'000}}) {
        auto const expected = all_pairs(hits, options);
        CoincidenceCounts counts;
        EXPECT_EQ(counted(hits, options, hits.size(), counts), expected);
        EXPECT_EQ(counts.hits, hits.size());
        EXPECT_EQ(counts.starts, std::count_if(hits.begin(), hits.end(), is_start));
        EXPECT_EQ(counts.stops, std::count_if(hits.begin(), hits.end(), is_stop));
        std::uint64_t sum = 0;
        for (auto const count : expected) sum += count;
        ASSERT_GT(sum, 100u);
        EXPECT_EQ(counts.coincidences, sum);
        EXPECT_EQ(counts.late, 0u);
    }
}

TEST(Coincidences, AreTheSameInWhateverPartsAndOrderHitsCome) {
    CoincidenceOptions const options{4, -20'000, 50, 1200};
    auto hits = some_hits(3000, 4, 3'000'000);
    auto const expected = all_pairs(hits, options);
    CoincidenceCounts counts;
    EXPECT_EQ(counted(hits, options, 17, counts), expected); // in no order at all
    std::sort(hits.begin(), hits.end(), [](auto const& a, auto const& b) { return a.time_ps < b.time_ps; });
    EXPECT_EQ(counted(hits, options, 200, counts), expected);
    std::stable_sort(hits.begin(), hits.end(), [](auto const& a, auto const& b) { return a.detector < b.detector; });
    EXPECT_EQ(counted(hits, options, 500, counts), expected); // one detector behind the other
    EXPECT_EQ(counts.late, 0u);
}

TEST(Coincidences, LateHitsAreCountedWhenTheirPartnersHaveLeftTheMemory) {
    CoincidenceOptions options{4, -20'000, 50, 1200};
    auto hits = some_hits(3000, 4, 3'000'000);
    std::sort(hits.begin(), hits.end(), [](auto const& a, auto const& b) { return a.time_ps < b.time_ps; });
    auto const expected = all_pairs(hits, options);
    options.kept_hits = 100;
    CoincidenceCounts counts;
    EXPECT_EQ(counted(hits, options, 50, counts), expected); // 100 starts are ten times the window
    EXPECT_EQ(counts.late, 0u);
    std::rotate(hits.begin(), hits.begin() + 10, hits.end()); // ten come at the very end
    auto const less = counted(hits, options, 50, counts);
    std::uint64_t late = 0, missing = 0;
    for (auto i = hits.end() - 10; i != hits.end(); ++i) late += is_start(*i) + is_stop(*i);
    for (std::size_t i = 0; i < less.size(); ++i) missing += expected[i] - less[i];
    ASSERT_GT(late, 0u);
    EXPECT_EQ(counts.late, late);
    EXPECT_GT(missing, 0u);
}

TEST(Coincidences, DelaysAreSubtracted) {
    CoincidenceOptions const options{2, 0, 10, 100};
    Coincidences coincidences(options);
    std::vector<std::int64_t> const start{-1000}, stop{-500};
    std::vector<float> const of_start{110}, of_stop{250};
    coincidences.add(0, kWindows, start, of_start, -40);
    coincidences.add(1, kWindows, stop, of_stop, 60);
    coincidences.pair();
    EXPECT_EQ(coincidences.histogram()[100 + 40], 1u); // -500 - 60 + 960 = 400 ps
    EXPECT_EQ(coincidences.counts().coincidences, 1u);
}

TEST(Coincidences, BinsBeginAtWholeMultiples) {
    for (std::uint32_t const bin_ps : {1u, 3u, 7u, 10u, 49u, 1000u, 12'345u}) {
        CoincidenceOptions const options{2, 0, bin_ps, 500};
        Coincidences coincidences(options);
        std::vector<std::int64_t> const start{0};
        std::vector<std::int64_t> stops;
        for (std::int64_t bin = 1; bin < 500; ++bin) stops.push_back(bin * bin_ps - 1), stops.push_back(bin * bin_ps);
        std::sort(stops.begin(), stops.end());
        coincidences.add(0, kWindows, start, std::vector<float>{110}, 0);
        coincidences.add(1, kWindows, stops, std::vector<float>(stops.size(), 250), 0);
        coincidences.pair();
        auto const histogram = coincidences.histogram().subspan(500, 500);
        EXPECT_EQ(histogram.front(), 1u) << bin_ps;
        EXPECT_EQ(histogram.back(), 1u) << bin_ps;
        EXPECT_TRUE(std::all_of(histogram.begin() + 1, histogram.end() - 1, [](auto count) { return count == 2; }));
    }
}

TEST(Coincidences, NonsenseIsRefused) {
    EXPECT_THROW(Coincidences({0, 0, 10, 10}), base::UsageError);
    EXPECT_THROW(Coincidences({2, 0, 0, 10}), base::UsageError);
    EXPECT_THROW(Coincidences({2, 0, 10, 0}), base::UsageError);
    EXPECT_THROW(Coincidences({2, 0, 4'000'000'000, 2}), base::UsageError);
    Coincidences coincidences({2, 0, 10, 10});
    std::vector<std::int64_t> const times{1};
    EXPECT_THROW(coincidences.add(2, kWindows, times, std::vector<float>{1}, 0), base::UsageError);
    EXPECT_THROW(coincidences.add(1, kWindows, times, std::vector<float>{1, 2}, 0), base::UsageError);
}

} // namespace
} // namespace thalweg::spectra
