#include "thalweg/readout/builder/read_pace.h"

#include <gtest/gtest.h>

namespace thalweg::readout {
namespace {

TEST(ReadPace, AnIdleThreadWakesSeldom) {
    ReadPace pace({});
    std::uint64_t now_ns = 0, wakes = 0;
    while (now_ns < 1'000'000'000) now_ns += pace.after_nothing();
    for (now_ns = 0; now_ns < 1'000'000'000; ++wakes) now_ns += pace.after_nothing();
    EXPECT_LE(wakes, 110u);
}

TEST(ReadPace, BlocksComeTogetherAtAnyRate) {
    for (double const blocks_per_s : {1.28e6, 0.5e6, 0.26e6}) {
        ReadPace pace({});
        std::uint64_t now_ns = 1'000'000'000, blocks = 0, wakes = 0;
        double come = 0;
        std::uint64_t slept_ns = 30'000;
        while (now_ns < 2'000'000'000) {
            come += static_cast<double>(slept_ns) * blocks_per_s * 1e-9;
            auto const whole = static_cast<std::uint64_t>(come);
            come -= static_cast<double>(whole);
            now_ns += slept_ns;
            slept_ns = whole == 0 ? pace.after_nothing() : pace.after_blocks(whole, now_ns);
            blocks += whole;
            ++wakes;
        }
        EXPECT_NEAR(static_cast<double>(blocks) / static_cast<double>(wakes), 256, 26) << blocks_per_s;
    }
}

TEST(ReadPace, NoSleepIsTooLongForTheBufferOrForTheGroups) {
    auto const longest = [](PaceLimits const& limits) {
        ReadPace pace(limits);
        std::uint64_t longest_ns = 0;
        for (int i = 0; i < 1000; ++i) longest_ns = std::max(longest_ns, pace.after_nothing());
        return longest_ns;
    };
    EXPECT_EQ(longest({}), 10'000'000u);
    EXPECT_EQ(longest({.patience_ns = 2'000'000}), 500'000u) << "a quarter of the time after which events are closed";
    EXPECT_LT(longest({.buffer_blocks = 1024}), 200'000u) << "a quarter of the buffer at 1.5 GB/s";
    EXPECT_EQ(longest({.poll_ns = 50'000, .buffer_blocks = 8}), 50'000u);
    ReadPace slow({});
    slow.after_blocks(1, 1'000'000'000);
    EXPECT_EQ(slow.after_blocks(1, 2'000'000'000), 1'000'000u) << "some blocks come: others may";
    for (int i = 0; i < 100; ++i) EXPECT_LE(slow.while_full(), 500'000u);
}

} // namespace
} // namespace thalweg::readout
