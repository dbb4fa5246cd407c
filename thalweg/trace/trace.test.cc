#include "thalweg/trace/trace.h"

#include <gtest/gtest.h>
#include <map>
#include <thread>

namespace thalweg::trace {
namespace {

std::map<std::string, std::uint64_t> values() {
    auto const all = snapshot();
    return {all.begin(), all.end()};
}

TEST(Trace, CountsFromTwoThreadsAreAllThere) {
    {
        auto const work = [] {
            for (int i = 0; i < 10'000; ++i) counter("test.items").add(3);
        };
        std::jthread const first(work);
        std::jthread const second(work);
    }
    EXPECT_EQ(values().at("test.items"), 60'000u);
}

TEST(Trace, OneNameIsOneCounterWhereverItIsAskedFor) {
    auto& before = counter("test.same");
    for (int i = 0; i < 1000; ++i) counter("test.other" + std::to_string(i));
    EXPECT_EQ(&counter("test.same"), &before);
}

TEST(Trace, SleepingIsWallTimeAndNotCpuTime) {
    {
        Span const span(timer("test.sleep"));
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    auto const all = values();
    EXPECT_EQ(all.at("test.sleep.calls"), 1u);
    EXPECT_GE(all.at("test.sleep.wall_ns"), 30'000'000u);
    EXPECT_LT(all.at("test.sleep.cpu_ns"), 15'000'000u);
}

TEST(Trace, WorkIsCpuTime) {
    {
        Span const span(timer("test.work"));
        auto const end_ns = base::thread_cpu_ns() + 5'000'000;
        while (base::thread_cpu_ns() < end_ns) {
        }
    }
    EXPECT_GE(values().at("test.work.cpu_ns"), 5'000'000u);
}

TEST(Trace, CountersDoNotShareACacheLine) {
    static_assert(sizeof(Counter) == 64 && alignof(Counter) == 64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&counter("test.line")) % 64, 0u);
}

} // namespace
} // namespace thalweg::trace
