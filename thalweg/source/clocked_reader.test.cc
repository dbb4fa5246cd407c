#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/units.h"
#include "thalweg/source/digitizer.h"
#include "thalweg/source/wait.h"

namespace thalweg::source {
namespace {

DigitizerOptions clocked_options() {
    DigitizerOptions options;
    options.record_samples = 1200;
    options.pool_pulses = 16;
    options.rate.records_per_s = 50'000;
    options.duration_ns = 100 * base::kMsNs;
    return options;
}

std::uint64_t drain(StreamReader& reader) {
    std::uint64_t rows = 0;
    Batch batch;
    while (!reader.ended())
        if (reader.next(batch, base::monotonic_ns() + 20 * base::kMsNs)) rows += batch.rows;
    return rows;
}

TEST(ClockedReader, TriggersInWallTimeAndLosesNothingWhenReadInTime) {
    auto const source = make_digitizer(clocked_options());
    auto const reader = source->open(0);
    auto const begin_ns = base::monotonic_ns();
    auto const rows = drain(*reader);
    auto const counters = reader->counters();
    EXPECT_GE(base::monotonic_ns() - begin_ns, 99 * base::kMsNs);
    EXPECT_NEAR(static_cast<double>(rows), 5000, 300);
    EXPECT_EQ(counters.triggers, rows);
    EXPECT_EQ(counters.rows, rows);
    EXPECT_EQ(counters.lost, 0u);
    EXPECT_EQ(counters.dead_time_ns, 0u);
    // The counters go up to the last reading of the clock, which may be a little before the end on a busy machine.
    EXPECT_NEAR(static_cast<double>(counters.live_time_ns), 100.0 * base::kMsNs, base::kMsNs);
    EXPECT_EQ(counters.onboard_bytes, 0u);
    EXPECT_NEAR(static_cast<double>(counters.onboard_limit_bytes), 4e9, 3000);
}

TEST(ClockedReader, GivesTheRowsOfTheSameDecaysAsAtAnyOtherTime) {
    auto options = clocked_options();
    auto const clocked = make_digitizer(options)->open(3);
    options.activity_hz = options.rate.records_per_s;
    options.rate = {};
    auto const free = make_digitizer(options)->open(3);
    for (Batch expected, batch; free->next(expected, 0);) {
        ASSERT_TRUE(clocked->next(batch, base::monotonic_ns() + 60'000 * base::kMsNs));
        for (std::size_t i = 0; i < batch.columns.size(); ++i) {
            ASSERT_EQ(batch.columns[i].size(), expected.columns[i].size());
            ASSERT_EQ(std::memcmp(batch.columns[i].data(), expected.columns[i].data(), batch.columns[i].size()), 0);
        }
    }
    EXPECT_EQ(drain(*clocked), 0u);
}

TEST(ClockedReader, FullMemoryLosesTriggersAndSaysSo) {
    auto options = clocked_options();
    options.onboard_bytes = 100 * 2416; // 100 records: 2 ms
    auto const reader = make_digitizer(options)->open(0);
    Batch batch;
    ASSERT_TRUE(reader->next(batch, base::monotonic_ns() + 10'000 * base::kMsNs));
    sleep_until(base::monotonic_ns() + 50 * base::kMsNs);
    ASSERT_TRUE(reader->next(batch, 0));
    auto const behind = reader->counters();
    EXPECT_EQ(behind.onboard_bytes, 99 * 2416u); // one was released
    EXPECT_GE(behind.lost, 2000u);
    EXPECT_GE(behind.dead_time_ns, 45 * base::kMsNs);
    auto const rows = drain(*reader) + 2;
    auto const counters = reader->counters();
    EXPECT_EQ(counters.triggers, rows + counters.lost);
    EXPECT_NEAR(static_cast<double>(counters.live_time_ns + counters.dead_time_ns), 100e6, 1);
    // The rate follows from the records and the live time, so dead time can be corrected for.
    auto const live_s = static_cast<double>(counters.live_time_ns) * 1e-9;
    EXPECT_NEAR(static_cast<double>(rows), 50'000 * live_s, 5 * std::sqrt(static_cast<double>(rows)));
}

TEST(ClockedReader, TheTimeBehindTheLastTriggerCounts) {
    auto options = clocked_options();
    options.rate.records_per_s = 50; // a trigger every 20 ms, so the last one is well before the end
    auto const reader = make_digitizer(options)->open(0);
    drain(*reader);
    EXPECT_EQ(reader->counters().live_time_ns, options.duration_ns);
}

TEST(ClockedReader, PausedTriggersAreNeitherTakenNorLost) {
    auto options = clocked_options();
    options.duration_ns = 1500 * base::kMsNs;
    auto const end_ns = base::monotonic_ns() + options.duration_ns; // at the earliest
    auto const reader = make_digitizer(options)->open(0);
    Batch batch;
    ASSERT_TRUE(reader->next(batch, base::monotonic_ns() + 10'000 * base::kMsNs));
    reader->pause();
    auto const begin_ns = base::monotonic_ns();
    std::uint64_t rows = 1;
    while (reader->next(batch, 0)) ++rows;
    EXPECT_FALSE(reader->next(batch, begin_ns + 400 * base::kMsNs));
    EXPECT_FALSE(reader->ended());
    ASSERT_LT(begin_ns, end_ns);
    auto const paused_ns = std::min(base::monotonic_ns(), end_ns) - begin_ns;
    reader->resume();
    rows += drain(*reader);
    auto const counters = reader->counters();
    EXPECT_EQ(counters.lost, 0u);
    EXPECT_EQ(counters.triggers, rows);
    EXPECT_LE(counters.live_time_ns, options.duration_ns - paused_ns);
    auto const live_s = static_cast<double>(counters.live_time_ns) * 1e-9;
    EXPECT_NEAR(static_cast<double>(rows), 50'000 * live_s, 5 * std::sqrt(static_cast<double>(rows)) + 5);
}

TEST(ClockedReader, EndsAtItsLimitOfRecords) {
    auto options = clocked_options();
    options.record_limit = 77;
    auto const reader = make_digitizer(options)->open(0);
    EXPECT_EQ(drain(*reader), 77u);
}

TEST(ClockedReader, ReturnsAtTheDeadline) {
    auto options = clocked_options();
    options.start_ns = base::monotonic_ns() + 60'000 * base::kMsNs; // all processes begin together, later
    auto const reader = make_digitizer(options)->open(0);
    Batch batch;
    auto const begin_ns = base::monotonic_ns();
    EXPECT_FALSE(reader->next(batch, begin_ns + 3 * base::kMsNs));
    EXPECT_LT(base::monotonic_ns() - begin_ns, 20'000 * base::kMsNs);
    EXPECT_FALSE(reader->ended());
}

} // namespace
} // namespace thalweg::source
