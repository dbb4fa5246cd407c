#include "thalweg/dataset/coverage.h"

#include <gtest/gtest.h>

namespace thalweg::dataset {
namespace {

TEST(KeepBlocks, KeepsWholeBlocksAndTheBeginningOfTheLast) {
    EXPECT_EQ(keep_blocks({{0, 25}}, 10), (Ranges{{0, 25}}));
    EXPECT_EQ(keep_blocks({{3, 22}}, 10), (Ranges{{10, 15}}));
    EXPECT_EQ(keep_blocks({}, 10), Ranges{});
}

TEST(KeepBlocks, DropsTheBlockOfAGap) { EXPECT_EQ(keep_blocks({{0, 15}, {17, 18}}, 10), (Ranges{{0, 10}, {20, 15}})); }

// Rows with empty lists behind the last row whose elements are there look whole.
TEST(KeepBlocks, AGapInTheLastBlockCostsOnlyWhatLiesBehindIt) {
    EXPECT_EQ(keep_blocks({{0, 4080}, {4088, 1}}, 16384), (Ranges{{0, 4080}}));
    EXPECT_EQ(keep_blocks({{0, 14}, {16, 1}, {18, 2}}, 10), (Ranges{{0, 14}}));
}

} // namespace
} // namespace thalweg::dataset
