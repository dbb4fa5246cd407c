#include "thalweg/base/stop.h"

#include <gtest/gtest.h>

#include <thread>

#include "thalweg/base/clock.h"

namespace thalweg::base {
namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000;

TEST(SleepUntilStopped, EndsAfterItsTime) {
    auto const begin_ns = monotonic_ns();
    sleep_ns(std::stop_token(), 20'000'000);
    EXPECT_GE(monotonic_ns() - begin_ns, 20'000'000u);
}

TEST(SleepUntilStopped, EndsWhenItIsAskedToStopBeforeOrMeanwhile) {
    std::stop_source before;
    before.request_stop();
    sleep_ns(before.get_token(), kHourNs);
    std::jthread sleeper([](std::stop_token const& stop) { sleep_ns(stop, kHourNs); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    sleeper.request_stop();
    sleeper.join();
}

} // namespace
} // namespace thalweg::base
