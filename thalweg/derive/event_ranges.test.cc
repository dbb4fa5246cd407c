#include "thalweg/derive/event_ranges.h"

#include <gtest/gtest.h>
#include <numeric>

namespace thalweg::derive {
namespace {

InputTable with_clusters(std::uint64_t clusters, std::uint64_t rows_each, std::uint64_t row_bytes) {
    InputTable table{clusters * rows_each, clusters * rows_each * row_bytes, {}};
    for (std::uint64_t i = 1; i <= clusters; ++i) table.ends.push_back(i * rows_each);
    return table;
}

TEST(EventRanges, HaveEachEventOnce) {
    for (unsigned workers : {1u, 2u, 7u}) {
        auto const ranges =
            ranges_of(plan_ranges({with_clusters(10, 100, 8), {}, with_clusters(3, 5000, 800)}, workers));
        std::uint64_t next = 0;
        std::size_t file = 0;
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            EXPECT_EQ(ranges[i].number, i);
            if (ranges[i].file != file) {
                EXPECT_EQ(next, 1000u);
                next = 0;
                file = ranges[i].file;
            }
            EXPECT_EQ(ranges[i].first, next);
            EXPECT_GT(ranges[i].count, 0u);
            next += ranges[i].count;
        }
        EXPECT_EQ(file, 2u);
        EXPECT_EQ(next, 15'000u);
    }
}

TEST(EventRanges, AreWholeClustersButForTheHalvesAtTheEnd) {
    auto const ends = plan_ranges({with_clusters(20, 1000, 10'000)}, 2); // 10 MB each: more than a range takes
    EXPECT_EQ(ends.front().size(), 22u);
    std::uint64_t halves = 0;
    for (auto const end : ends.front()) halves += end % 1000 != 0;
    EXPECT_EQ(halves, 2u);
}

TEST(EventRanges, TakeSeveralSmallClusters) {
    EXPECT_LT(plan_ranges({with_clusters(1000, 10, 100)}, 1).front().size(), 12u);
    EXPECT_EQ(plan_ranges({with_clusters(1, 1, 8)}, 4).front().size(), 1u);
}

} // namespace
} // namespace thalweg::derive
