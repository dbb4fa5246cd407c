// The formulas here are closed forms, written down a second time: no line is shared with the code that is tested.
#include "thalweg/source/correlation.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

#include "thalweg/base/error.h"
#include "thalweg/source/decays.h"

namespace thalweg::source {
namespace {

constexpr double kA22 = -0.288, kA44 = -0.076, kOmega = 0.8;
constexpr std::uint32_t kDraws = 200'000;

// x, -x, y, -y, z, -z
Physics six_detectors() {
    Physics physics{.a22 = kA22, .a44 = kA44};
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (auto const sign : {1.0, -1.0}) {
            physics.detectors.emplace_back();
            physics.detectors.back().place[axis] = sign;
        }
    return physics;
}

// A quadrupole interaction without asymmetry, I = 5/2.
FieldSite quadrupole(double delta) {
    return {.lines = {{0, 7. / 35, 1. / 9},
                      {kOmega, 13. / 35, 5. / 21},
                      {2 * kOmega, 10. / 35, 2. / 7},
                      {3 * kOmega, 5. / 35, 23. / 63}},
            .delta = delta};
}

double accepted(Physics const& physics, std::uint32_t first, std::uint32_t second, double delay_ns) {
    Correlation const correlation(physics, 10.8);
    Random random(99);
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < kDraws; ++i) count += correlation.accepts(random, first, second, delay_ns);
    return count * correlation.bound() / kDraws;
}

// Five standard deviations of the fraction, which is near 1/2.
double tolerance() { return 5 * 0.5 * 1.364 / std::sqrt(kDraws); }

TEST(Correlation, WithoutFieldSecondGammasComeAsWSays) {
    auto const physics = six_detectors();
    EXPECT_NEAR(accepted(physics, 0, 1, 3.0), 1 + kA22 + kA44, tolerance());
    EXPECT_NEAR(accepted(physics, 0, 2, 3.0), 1 - kA22 / 2 + 3 * kA44 / 8, tolerance());
}

TEST(Correlation, NoPlacesNoCorrelation) {
    Random random(1);
    EXPECT_TRUE(Correlation({}, 10.8).accepts(random, 0, 1, 5));
    EXPECT_EQ(Correlation({}, 10.8).bound(), 1);
    EXPECT_EQ(Correlation({}, 10.8).mean(), 1);
}

TEST(Correlation, AQuadrupoleFieldPerturbsBothParts) {
    auto physics = six_detectors();
    physics.sites = {quadrupole(0.02)};
    for (auto const t : {0.5, 4.0, 13.0, 300.0}) {
        auto const line = [&](double n) { return std::cos(n * kOmega * t) * std::exp(-0.02 * n * kOmega * t); };
        auto const g22 = (7 + 13 * line(1) + 10 * line(2) + 5 * line(3)) / 35;
        auto const g44 = 1. / 9 + 5. / 21 * line(1) + 2. / 7 * line(2) + 23. / 63 * line(3);
        EXPECT_NEAR(accepted(physics, 2, 3, t), 1 + kA22 * g22 + kA44 * g44, tolerance()) << t;
        EXPECT_NEAR(accepted(physics, 2, 4, t), 1 - kA22 * g22 / 2 + 3 * kA44 * g44 / 8, tolerance()) << t;
    }
}

TEST(Correlation, AFieldAlongAnAxisTurnsThePattern) {
    auto physics = six_detectors();
    physics.a44 = 0;
    physics.sites = {{.axis = {0, 0, 1}, .larmor_per_ns = 0.1}};
    Correlation const correlation(physics, 10.8);
    for (auto const t : {0.0, 2.0, 7.0, 20.0}) {
        auto const cosine2 = std::cos(2 * 0.1 * t); // P_2(cos a) = 1/4 + 3/4 cos 2a
        auto const w = [&](std::size_t first, std::size_t second) {
            return correlation.value(0, physics.detectors[first].place, physics.detectors[second].place, t);
        };
        EXPECT_NEAR(w(0, 1), 1 + kA22 * (1 + 3 * cosine2) / 4, 1e-12);
        EXPECT_NEAR(w(0, 2), 1 + kA22 * (1 - 3 * cosine2) / 4, 1e-12);
        EXPECT_NEAR(w(4, 5), 1 + kA22, 1e-12);
        EXPECT_NEAR(w(4, 0), 1 - kA22 / 2, 1e-12);
    }
    // The sense in which it turns matters if the detectors are at neither 90 nor 180 degrees.
    auto const half = std::numbers::sqrt2 / 2;
    EXPECT_NEAR(correlation.value(0, {1, 0, 0}, {half, half, 0}, std::numbers::pi / 4 / 0.1), 1 + kA22, 1e-12);
}

TEST(Correlation, ConesOfCrystalsAttenuateIt) {
    auto physics = six_detectors();
    physics.half_angle_rad = 20 * std::numbers::pi / 180;
    auto const c = std::cos(physics.half_angle_rad);
    auto const q2 = c * (1 + c) / 2, q4 = c * (1 + c) * (7 * c * c - 3) / 8;
    EXPECT_NEAR(accepted(physics, 0, 1, 0), 1 + kA22 * q2 * q2 + kA44 * q4 * q4, tolerance());
    EXPECT_NEAR(accepted(physics, 5, 0, 0), 1 - kA22 * q2 * q2 / 2 + 3 * kA44 * q4 * q4 / 8, tolerance());
}

TEST(Correlation, NucleiAreInTheirSitesByFraction) {
    auto physics = six_detectors();
    auto one = quadrupole(0), other = FieldSite{};
    one.fraction = 0.7, other.fraction = 0.3;
    physics.sites = {one, other};
    auto const t = std::numbers::pi / kOmega;
    auto const g22 = 0.7 * (7 - 13 + 10 - 5) / 35 + 0.3;
    auto const g44 = 0.7 * (1. / 9 - 5. / 21 + 2. / 7 - 23. / 63) + 0.3;
    EXPECT_NEAR(accepted(physics, 0, 1, t), 1 + kA22 * g22 + kA44 * g44, tolerance());
}

TEST(Correlation, TheMeanIsThatOfAllPairsAndDelays) {
    Correlation const correlation(six_detectors(), 10.8); // without a field: (5 - A22 + (1 + 4 * 3/8) A44) / 5
    EXPECT_NEAR(correlation.mean(), (5 - kA22 + 2.5 * kA44) / 5, 1e-12);
}

TEST(Correlation, TheChannelsKeepTheirRate) {
    DigitizerOptions options;
    options.physics = six_detectors();
    Hits hits(options, 1e5, 3);
    for (int i = 0; i < 100'000; ++i) hits.pop();
    EXPECT_NEAR(static_cast<double>(hits.peek().time_ps) * 1e-12, 1, 0.016); // five standard deviations
}

TEST(Correlation, NonsenseIsRefused) {
    auto const refused = [](auto const& change) {
        auto physics = six_detectors();
        change(physics);
        EXPECT_THROW(validate(physics, 6), base::UsageError);
    };
    refused([](auto& physics) { physics.detectors.pop_back(); });
    refused([](auto& physics) { physics.detectors[0].place = {1, 1, 0}; });
    refused([](auto& physics) { physics.detectors[0].efficiency = 1.5; });
    refused([](auto& physics) { physics.detectors[0].gain = 0; });
    refused([](auto& physics) { physics.a22 = -2; });
    refused([](auto& physics) { physics.half_angle_rad = 2; });
    refused([](auto& physics) { physics.sites = {{.fraction = 0.5}}; });
    refused([](auto& physics) { physics.sites = {quadrupole(-1)}; });
    refused([](auto& physics) { physics.sites = {{.axis = {0, 0, 2}, .larmor_per_ns = 1}}; });
    EXPECT_NO_THROW(validate(six_detectors(), 6));
}

// 30 pairs of detectors, the times between their hits, and the shape that a normalised sum over the detectors would
// not have: for six detectors the sum of W is 5 - A22 G22(t) (with A44 = 0).
TEST(Correlation, TheSumOverTheOtherDetectorsIsNotOne) {
    auto physics = six_detectors();
    physics.a44 = 0;
    physics.sites = {quadrupole(0)};
    Correlation const correlation(physics, 10.8);
    for (auto const t : {0.0, 3.0, 9.0}) {
        auto const wave = [&](int n) { return std::cos(n * kOmega * t); };
        auto const g22 = (7 + 13 * wave(1) + 10 * wave(2) + 5 * wave(3)) / 35;
        double sum = 0;
        for (std::size_t other = 1; other < 6; ++other)
            sum += correlation.value(0, physics.detectors[0].place, physics.detectors[other].place, t);
        EXPECT_NEAR(sum, 5 - kA22 * g22, 1e-4);
    }
}

} // namespace
} // namespace thalweg::source
