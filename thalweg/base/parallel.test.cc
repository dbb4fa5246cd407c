#include "thalweg/base/parallel.h"

#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace thalweg::base {
namespace {

TEST(ParallelFor, EachIndexIsVisitedOnce) {
    for (unsigned const threads : {0u, 1u, 2u, 7u, 100u}) {
        for (std::size_t const count : {0u, 1u, 2u, 1000u}) {
            std::vector<std::atomic<int>> visits(count);
            parallel_for(count, threads, [&](std::size_t index) { ++visits[index]; });
            for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(visits[i], 1) << i << " of " << count;
        }
    }
}

TEST(ParallelFor, TheCallerIsOneOfTheThreads) {
    std::set<std::thread::id> ids;
    parallel_for(10, 1, [&](std::size_t) { ids.insert(std::this_thread::get_id()); });
    EXPECT_EQ(ids, std::set{std::this_thread::get_id()});
}

TEST(ParallelFor, ThreadsWorkAtTheSameTime) {
    std::atomic<int> arrived = 0;
    parallel_for(3, 3, [&](std::size_t) { // would hang if one thread had to do all of them
        ++arrived;
        while (arrived < 3) std::this_thread::yield();
    });
    EXPECT_EQ(arrived, 3);
}

TEST(ParallelFor, AnExceptionStopsTheRestAndComesBack) {
    for (unsigned const threads : {1u, 4u}) {
        std::atomic<int> visits = 0;
        auto const work = [&](std::size_t index) {
            ++visits;
            if (index == 10) throw std::runtime_error("ten");
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        };
        try {
            parallel_for(100'000, threads, work);
            FAIL() << "nothing was thrown";
        } catch (std::runtime_error const& error) {
            EXPECT_STREQ(error.what(), "ten");
        }
        EXPECT_LT(visits, 50'000);
    }
}

TEST(ParallelFor, OneOfSeveralExceptionsComesBack) {
    EXPECT_THROW(parallel_for(100, 4, [](std::size_t) { throw std::runtime_error("each"); }), std::runtime_error);
}

TEST(UsableCores, IsAtLeastOne) { EXPECT_GE(usable_cores(), 1u); }

} // namespace
} // namespace thalweg::base
