#include "thalweg/base/near_miss.h"

#include <array>
#include <gtest/gtest.h>

namespace thalweg::base {
namespace {

using Names = std::vector<std::string_view>;

constexpr std::array<std::string_view, 4> kNames{"flush_interval", "extent_bytes", "block_bytes", "threads"};

TEST(NearMiss, DistanceCountsSingleEdits) {
    EXPECT_EQ(edit_distance("", ""), 0u);
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("abc", ""), 3u);
    EXPECT_EQ(edit_distance("abc", "axc"), 1u);
    EXPECT_EQ(edit_distance("abc", "ac"), 1u);
    EXPECT_EQ(edit_distance("abc", "acb"), 1u) << "exchanged with its neighbour";
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(NearMiss, TheNearestComesFirst) {
    EXPECT_EQ(near_misses("flush_intervall", kNames), Names{"flush_interval"});
    EXPECT_EQ(near_misses("thraeds", kNames), Names{"threads"});
    EXPECT_EQ(near_misses("block_byte", kNames), Names{"block_bytes"});
    EXPECT_EQ(near_misses("interval", kNames), Names{"flush_interval"}) << "a part of a name";
    EXPECT_EQ(near_misses("zebra", kNames), Names{});
    EXPECT_EQ(near_misses("", kNames), Names{});
}

TEST(NearMiss, WhereNothingIsNearAllAreNamed) {
    EXPECT_EQ(suggest("thread", kNames), "did you mean 'threads'?");
    EXPECT_EQ(suggest("zebra", kNames), "there are flush_interval, extent_bytes, block_bytes, threads");
}

} // namespace
} // namespace thalweg::base
