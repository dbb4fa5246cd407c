// Detectors that differ, records with several pulses, and rows without samples.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

#include "thalweg/source/decays.h"
#include "thalweg/source/digitizer.h"

namespace thalweg::source {
namespace {

struct Row {
    std::uint64_t time_ps = 0;
    float energy_kev = 0;
};

DigitizerOptions list_options() {
    DigitizerOptions options;
    options.channels = 2;
    options.waveforms = false;
    options.record_samples = 16;
    options.record_limit = 40'000;
    return options;
}

Physics two_detectors() {
    Physics physics;
    physics.detectors.resize(2);
    physics.detectors[0].place = {1, 0, 0};
    physics.detectors[1].place = {-1, 0, 0};
    return physics;
}

std::vector<Row> rows_of(DigitizerOptions const& options, std::size_t stream) {
    auto const reader = make_digitizer(options)->open(stream);
    std::vector<Row> rows;
    for (Batch batch; reader->next(batch, 0);)
        for (std::size_t i = 0; i < batch.rows; ++i) {
            rows.emplace_back();
            std::memcpy(&rows.back().time_ps, batch.columns[0].data() + 8 * i, 8);
            std::memcpy(&rows.back().energy_kev, batch.columns[1].data() + 4 * i, 4);
        }
    return rows;
}

double peak_kev(std::vector<Row> const& rows, double near_kev) {
    std::vector<float> energies;
    for (auto const& row : rows)
        if (std::abs(row.energy_kev - near_kev) < 0.1 * near_kev) energies.push_back(row.energy_kev);
    std::sort(energies.begin(), energies.end());
    return energies.empty() ? 0 : static_cast<double>(energies[energies.size() / 2]);
}

TEST(Detectors, RowsWithoutSamplesAreThoseOfTheSameHits) {
    auto options = list_options();
    options.record_limit = 3000;
    auto const rows = rows_of(options, 1);
    ASSERT_EQ(rows.size(), 3000u);
    options.waveforms = true;
    auto const reader = make_digitizer(options)->open(1);
    Batch batch;
    for (auto const& row : rows) {
        ASSERT_TRUE(reader->next(batch, 0));
        ASSERT_EQ(std::memcmp(batch.columns[0].data(), &row.time_ps, 8), 0);
    }
    EXPECT_NEAR(peak_kev(rows, 133), 133, 2);
}

TEST(Detectors, GainAndDriftScaleTheirEnergies) {
    auto options = list_options();
    options.physics = two_detectors();
    options.physics.detectors[0].gain = 1.1;
    options.physics.detectors[1].drift_per_hour = 900; // a quarter in a second; the run lasts 0.4 s
    EXPECT_NEAR(peak_kev(rows_of(options, 0), 1.1 * 133), 1.1 * 133, 1.5);
    auto const drifting = rows_of(options, 1);
    auto const end_s = static_cast<double>(drifting.back().time_ps) * 1e-12;
    std::vector<Row> const last(drifting.end() - 4000, drifting.end());
    auto const expected = 133 * (1 + 0.25 * (end_s - 0.02));
    EXPECT_NEAR(peak_kev(last, expected), expected, 3);
}

TEST(Detectors, EfficiencyThinsTheHits) {
    auto options = list_options();
    options.record_limit = 0;
    options.duration_ns = 400'000'000;
    options.physics = two_detectors();
    auto const all = rows_of(options, 0).size();
    options.physics.detectors[0].efficiency = 0.5;
    EXPECT_NEAR(static_cast<double>(rows_of(options, 0).size()), 0.5 * static_cast<double>(all), 500);
    EXPECT_EQ(rows_of(options, 1).size(), [&] {
        options.physics.detectors[0].efficiency = 1;
        return rows_of(options, 1).size();
    }());
}

// The first decay is so late that no hit of any detector comes before the clock's 0: with a detector that is 300 ps
// early, all decays are 300 ps later.
TEST(Detectors, DelaysMoveTheirTimes) {
    auto options = list_options();
    options.physics = two_detectors();
    auto const first = rows_of(options, 0), second = rows_of(options, 1);
    options.physics.detectors[0].delay_ps = -300;
    options.physics.detectors[1].delay_ps = 700;
    auto const moved_first = rows_of(options, 0), moved_second = rows_of(options, 1);
    ASSERT_EQ(moved_first.size(), first.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        ASSERT_EQ(moved_first[i].time_ps, first[i].time_ps);
        ASSERT_EQ(moved_second[i].time_ps, second[i].time_ps + 1000);
    }
}

TEST(Detectors, AResolutionOfItsOwnIsThatOfTheDetector) {
    auto options = list_options();
    options.record_limit = 20'000;
    options.physics = two_detectors();
    auto const times_with = [&](double first_ps, double second_ps, std::size_t stream) {
        options.physics.detectors[0].time_resolution_ps = first_ps;
        options.physics.detectors[1].time_resolution_ps = second_ps;
        return rows_of(options, stream);
    };
    for (std::size_t stream : {0, 1}) {
        auto const exact = times_with(stream == 0 ? 0 : 500, stream == 0 ? 500 : 0, stream);
        auto const seen = times_with(stream == 0 ? 500 : 0, stream == 0 ? 0 : 500, stream);
        std::vector<double> off_ps;
        for (std::size_t i = 0; auto const& row : seen) { // of which a few are lost, as others in the other run
            while (i + 1 < exact.size() && exact[i].time_ps + 2000 < row.time_ps) ++i;
            auto const off = static_cast<double>(row.time_ps) - static_cast<double>(exact[i].time_ps);
            if (std::abs(off) < 2000) off_ps.push_back(std::abs(off));
        }
        ASSERT_GT(off_ps.size(), 19'000u);
        auto const middle = off_ps.begin() + static_cast<std::ptrdiff_t>(off_ps.size() / 2);
        std::nth_element(off_ps.begin(), middle, off_ps.end());
        EXPECT_NEAR(*middle, 0.6745 * 500 / 2.3548, 6);
    }
}

TEST(Detectors, APulseDuringARecordIsInItsSamples) {
    DigitizerOptions options;
    options.channels = 1;
    options.record_samples = 10'496;
    options.record_limit = 400;
    options.noise_adc = 0;
    auto lists = options;
    lists.waveforms = false;
    lists.record_samples = 16; // so every hit is a row
    lists.record_limit = 4000;
    lists.activity_hz = options.activity_hz / (1 - options.activity_hz * 1.0496e-6); // hits, of which some pile up
    lists.activity_hz /= 1 + lists.activity_hz * 1.6e-9;
    auto const hits = rows_of(lists, 0);
    auto const reader = make_digitizer(options)->open(0);
    std::size_t seen = 0;
    for (Batch batch; reader->next(batch, 0);) {
        std::uint64_t time_ps = 0;
        std::memcpy(&time_ps, batch.columns[0].data(), 8);
        float t0_ns = 0;
        std::memcpy(&t0_ns, batch.columns[1].data(), 4);
        auto const* samples = reinterpret_cast<std::uint16_t const*>(batch.columns[3].data());
        for (auto const& hit : hits) {
            if (hit.time_ps <= time_ps + 200'000 || hit.time_ps >= time_ps + 800'000 || hit.energy_kev < 100) continue;
            auto const after_ns = static_cast<double>(hit.time_ps - time_ps) * 1e-3;
            auto const begin = static_cast<std::size_t>((after_ns - t0_ns) * 10);
            auto const height = *std::max_element(samples + begin, samples + begin + 200);
            EXPECT_GT(height, 80 + 1.35 * 0.8 * hit.energy_kev) << hit.energy_kev;
            EXPECT_LT(samples[begin - 3], 80 + 0.5 * 1.35 * hit.energy_kev);
            ++seen;
        }
    }
    EXPECT_EQ(reader->counters().rows, 400u);
    EXPECT_GT(reader->counters().piled_up, 10u);
    EXPECT_GT(seen, 5u);
}

} // namespace
} // namespace thalweg::source
