#include "thalweg/base/thread.h"

#include <gtest/gtest.h>
#include <optional>
#include <vector>

#include "thalweg/base/clock.h"

namespace thalweg::base {
namespace {

TEST(Thread, ItsDestructorAndItsReplacementJoin) {
    int ran = 0;
    {
        Thread first([&] { ++ran; });
        Thread second(std::move(first));
        EXPECT_FALSE(first.joinable());
        EXPECT_TRUE(second.joinable());
        first = std::move(second);
        EXPECT_TRUE(first.joinable());
    }
    EXPECT_EQ(ran, 1);
}

TEST(Thread, AConditionHandsNumbersOverInTurn) {
    Mutex mutex;
    Condition changed;
    std::optional<int> next;
    std::vector<int> taken;
    Thread taker([&] {
        std::unique_lock lock(mutex);
        while (taken.size() < 1000) {
            changed.wait(lock, [&] { return next.has_value(); });
            taken.push_back(*next);
            next.reset();
            changed.notify_all();
        }
    });
    for (int i = 0; i < 1000; ++i) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return !next.has_value(); });
        next = i;
        changed.notify_one();
    }
    taker.join();
    ASSERT_EQ(taken.size(), 1000u);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(taken[i], i);
}

TEST(Thread, AWaitEndsWithItsTimeAndHoldsTheLock) {
    Mutex mutex;
    Condition never;
    std::unique_lock lock(mutex);
    auto const begin_ns = monotonic_ns();
    while (monotonic_ns() < begin_ns + 2'000'000) never.wait_for(lock, 1'000'000);
    EXPECT_TRUE(lock.owns_lock());
    bool got = true;
    Thread([&] { got = mutex.try_lock(); }).join();
    EXPECT_FALSE(got);
}

TEST(Clock, ASleepIsNoShorterThanAsked) {
    auto const begin_ns = monotonic_ns();
    sleep_ns(3'000'000);
    EXPECT_GE(monotonic_ns() - begin_ns, 3'000'000u);
}

} // namespace
} // namespace thalweg::base
