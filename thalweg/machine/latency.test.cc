#include "thalweg/machine/latency.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/machine/pinning.h"

namespace thalweg::machine {
namespace {

TEST(Latency, OfTwoCores) {
    auto const cores = processors_of_this_thread();
    if (cores.size() < 2) GTEST_SKIP() << "there is one core";
    auto const found = latency_ns(cores[0], cores[1], 20, 100);
    ASSERT_EQ(found.size(), 20u);
    EXPECT_GT(std::ranges::min(found), 1.0);
    EXPECT_LT(std::ranges::min(found), 100'000.0);
    EXPECT_EQ(processors_of_this_thread(), cores) << "the thread that asks is not pinned";
}

TEST(Latency, OfACoreAndItself) { EXPECT_THROW(latency_ns(0, 0, 1), base::UsageError); }

// Neither thread waits without limit.
TEST(Latency, OfACoreThatIsNotThere) {
    auto const core = processors_of_this_thread().front();
    EXPECT_THROW(latency_ns(core, 8000, 1), base::SystemError);
    EXPECT_THROW(latency_ns(8000, core, 1), base::SystemError);
}

} // namespace
} // namespace thalweg::machine
