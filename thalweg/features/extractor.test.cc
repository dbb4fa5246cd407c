#include "thalweg/features/extractor.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

#include "thalweg/base/error.h"

namespace thalweg::features {
namespace {

using Samples = std::vector<std::uint16_t>;

constexpr double kDtNs = 0.1;
constexpr std::size_t kSamples = 4000;
constexpr double kBaseline = 100;

FeatureOptions options() {
    return {.bits = 12, .baseline_ns = 20, .gate_begin_ns = -10, .gate_end_ns = 200, .fraction = 0.2};
}

// A ramp from `begin` on (in samples, may lie between two) to `height` within 40 samples, 60 samples of that height,
// and a ramp down within 200.
double trapezium(double at, double begin, double height) {
    auto const since = at - begin;
    if (since < 0 || since > 300) return 0;
    if (since < 40) return height * since / 40;
    return since < 100 ? height : height * (300 - since) / 200;
}

Samples record(std::vector<std::pair<double, double>> const& pulses, double noise = 0, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, noise > 0 ? noise : 1);
    Samples samples(kSamples);
    for (std::size_t i = 0; i < kSamples; ++i) {
        auto level = kBaseline + (noise > 0 ? normal(random) : 0);
        for (auto const& [begin, height] : pulses) level += trapezium(static_cast<double>(i), begin, height);
        samples[i] = static_cast<std::uint16_t>(std::clamp(std::lround(level), 0L, 4095L));
    }
    return samples;
}

TEST(Extractor, TheEdgeCrossesItsFractionWhereTheRampDoes) {
    FeatureExtractor extractor(options());
    for (double begin = 800; begin < 801; begin += 0.1) {
        auto const pulse = extractor.of(record({{begin, 2000}}), kDtNs);
        EXPECT_EQ(pulse.flags, 0);
        // A ramp that is averaged over a box is the same ramp half a box later, and the box counts by its middle.
        EXPECT_NEAR(pulse.time_ns, (begin + 0.2 * 40) * kDtNs, 0.002) << begin;
        EXPECT_NEAR(pulse.energy, 2000 * (20 + 60 + 100) * kDtNs, 5);
    }
}

TEST(Extractor, TimeAndEnergyDoNotDependOnTheHeightAndDirection) {
    for (auto const height : {200.0, 1000.0, 3500.0}) {
        auto const samples = record({{1000.4, height}});
        auto const up = FeatureExtractor(options()).of(samples, kDtNs);
        EXPECT_NEAR(up.time_ns, (1000.4 + 8) * kDtNs, 0.01);
        EXPECT_NEAR(up.energy, height * 18, 10); // rounded to whole ADC on 300 samples
        Samples mirrored, with_sign;
        for (auto const sample : samples) mirrored.push_back(static_cast<std::uint16_t>(4095 - sample));
        for (auto const sample : samples) with_sign.push_back(static_cast<std::uint16_t>(sample - 2048));
        auto downwards = options();
        downwards.is_negative = true;
        auto const down = FeatureExtractor(downwards).of(mirrored, kDtNs);
        EXPECT_DOUBLE_EQ(down.time_ns, up.time_ns);
        EXPECT_DOUBLE_EQ(down.energy, up.energy);
        auto const of_signed = FeatureExtractor(options(), true).of(with_sign, kDtNs);
        EXPECT_DOUBLE_EQ(of_signed.time_ns, up.time_ns);
        EXPECT_DOUBLE_EQ(of_signed.energy, up.energy);
    }
}

TEST(Extractor, ARecordWithoutAPulseSaysSo) {
    FeatureExtractor extractor(options());
    for (auto const& samples : {record({}, 3), record({{1000, 30}}, 3), Samples{}, Samples(5, 7)}) {
        auto const pulse = extractor.of(samples, kDtNs);
        EXPECT_EQ(pulse.flags, kNoPulse);
        EXPECT_TRUE(std::isnan(pulse.energy));
        EXPECT_EQ(pulse.time_ns, 0);
    }
}

TEST(Extractor, SaturationCountsWhereThePulseIs) {
    FeatureExtractor extractor(options());
    EXPECT_EQ(extractor.of(record({{1000, 3990}}), kDtNs).flags, 0);
    EXPECT_EQ(extractor.of(record({{1000, 3995}}), kDtNs).flags, kSaturated);
    EXPECT_EQ(extractor.of(record({{1000, 5000}}), kDtNs).flags, kSaturated);
    EXPECT_EQ(extractor.of(record({{1000, 500}, {3500, 5000}}), kDtNs).flags, kFollowed); // behind the gate
    EXPECT_EQ(extractor.of(record({{1000, 500}, {2000, 5000}}), kDtNs).flags, kPiledUp | kSaturated);
}

TEST(Extractor, OtherPulsesAreFlaggedByTheirPlace) {
    FeatureExtractor extractor(options());
    auto const alone = extractor.of(record({{1000, 1500}}, 2), kDtNs);
    EXPECT_EQ(alone.flags, 0);
    EXPECT_EQ(extractor.of(record({{1000, 1500}, {1400, 300}}, 2), kDtNs).flags, kPiledUp);
    EXPECT_EQ(extractor.of(record({{1000, 1500}, {1220, 1200}}, 2), kDtNs).flags, kPiledUp); // on the falling side
    auto const followed = extractor.of(record({{1000, 1500}, {3200, 3000}}, 2), kDtNs);
    EXPECT_EQ(followed.flags, kFollowed);
    EXPECT_NEAR(followed.energy, alone.energy, 1); // and the larger one is not taken for it
    EXPECT_NEAR(followed.time_ns, alone.time_ns, 1e-9);
    EXPECT_EQ(extractor.of(record({{40, 800}, {1000, 1500}}, 2), kDtNs).flags & kUnsteadyBaseline, kUnsteadyBaseline);
}

TEST(Extractor, APulseInAPartOfTheBaselineDoesNotMoveIt) {
    auto longer = options();
    longer.baseline_ns = 90;
    FeatureExtractor extractor(longer);
    // A small one, which is below the threshold: the pulse is the second one.
    auto const pulse = extractor.of(record({{100, 35}, {1000, 1500}}), kDtNs);
    EXPECT_NEAR(pulse.energy, 1500 * 18, 30);
}

TEST(Extractor, APulseAtTheEdgeOfTheRecordIsCut) {
    FeatureExtractor extractor(options());
    EXPECT_EQ(extractor.of(record({{2500, 1500}}), kDtNs).flags, kCut);
    auto samples = record({{1000, 1500}});
    samples.erase(samples.begin(), samples.begin() + 1060);
    EXPECT_NE(extractor.of(samples, kDtNs).flags & (kCut | kNoPulse), 0);
}

TEST(Extractor, KernelsGiveTheSameFeatures) {
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        std::uniform_real_distribution<double> begin(300, 3800), height(0, 4500);
        auto samples = record({{begin(random), height(random)}, {begin(random), height(random)}},
                              static_cast<double>(round % 5), static_cast<unsigned>(round));
        samples.resize(random() % 8 == 0 ? random() % 200 : 3000 + random() % 1000);
        auto own = options();
        own.smooth_ns = 0.05 * static_cast<double>(1 + random() % 40);
        FeatureExtractor scalar(own, false, kScalarSums), fastest(own);
        auto const first = scalar.of(samples, kDtNs), second = fastest.of(samples, kDtNs);
        EXPECT_EQ(first.flags, second.flags);
        EXPECT_EQ(first.time_ns, second.time_ns);
        EXPECT_TRUE(first.energy == second.energy || (std::isnan(first.energy) && std::isnan(second.energy)));
    }
}

TEST(Extractor, RecordsOfAnyLengthAndContentAreRead) {
    std::mt19937 random(4);
    for (std::size_t count = 0; count < 400; ++count) {
        auto const samples = std::make_unique<std::uint16_t[]>(count); // ends where its memory ends
        for (std::size_t i = 0; i < count; ++i) samples[i] = static_cast<std::uint16_t>(random() % 4096);
        for (auto const dt_ns : {0.1, 1.0, 16.0, 1000.0}) {
            auto const pulse = FeatureExtractor(options()).of({samples.get(), count}, dt_ns);
            EXPECT_TRUE(std::isfinite(pulse.time_ns));
            EXPECT_LE(std::abs(pulse.time_ns), static_cast<double>(count) * dt_ns);
        }
    }
}

TEST(Extractor, WrongOptionsAreRefused) {
    auto const refuse = [](auto const& change) {
        auto own = options();
        change(own);
        EXPECT_THROW(FeatureExtractor{own}, base::UsageError);
    };
    refuse([](auto& own) { own.bits = 0; });
    refuse([](auto& own) { own.bits = 17; });
    refuse([](auto& own) { own.gate_end_ns = own.gate_begin_ns; });
    refuse([](auto& own) { own.fraction = 1; });
    refuse([](auto& own) { own.fraction = std::nan(""); });
    refuse([](auto& own) { own.smooth_ns = -1; });
    refuse([](auto& own) { own.threshold_adc = 1e6; });
    EXPECT_THROW(FeatureExtractor(options()).of(Samples(100), 0), base::UsageError);
    EXPECT_THROW(FeatureExtractor(options()).of(Samples(100), std::nan("")), base::UsageError);
}

} // namespace
} // namespace thalweg::features
