#include "thalweg/readout/client/history.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace thalweg::readout {
namespace {

TEST(History, KnowsWhatWasAddedInAnyOrderAndNeighboursBecomeOne) {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        History history;
        std::vector<bool> expected(600);
        for (int i = 0; i < 40; ++i) {
            auto const first = random() % 500, end = first + random() % 60;
            history.add(first, end);
            std::fill(expected.begin() + static_cast<long>(first), expected.begin() + static_cast<long>(end), true);
        }
        std::size_t ranges = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            ASSERT_EQ(history.contains(i), expected[i]) << i;
            ranges += expected[i] && (i == 0 || !expected[i - 1]);
        }
        EXPECT_EQ(history.size(), ranges);
    }
}

TEST(History, ForgetsTheOldestWhenThereAreTooManyGaps) {
    History history;
    for (std::uint64_t i = 0; i < 10'000; ++i) history.add(3 * i, 3 * i + 1);
    EXPECT_EQ(history.size(), 4096u);
    EXPECT_FALSE(history.contains(0));
    EXPECT_TRUE(history.contains(3 * 9'999));
}

} // namespace
} // namespace thalweg::readout
