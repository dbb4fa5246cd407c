#include "thalweg/dataset/journal/coverage.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <random>
#include <set>

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
    EXPECT_EQ(keep_blocks({{0, 9}, {10, 1}}, 10), (Ranges{{0, 9}}));
    EXPECT_EQ(keep_blocks({{0, 3}, {10, 21}, {40, 5}}, 10), (Ranges{{10, 20}, {40, 5}}));
}

// Everything again with plain sets of items.
using Items = std::set<std::uint64_t>;

Items items_of(Ranges const& ranges) {
    Items items;
    for (auto const& range : ranges) {
        for (auto item = range.first; item < range.first + range.count; ++item) items.insert(item);
    }
    return items;
}

Ranges random_ranges(std::mt19937& random) {
    Ranges ranges;
    std::uint64_t end = random() % 4;
    for (auto count = random() % 6; count > 0; --count) {
        ranges.push_back({end, 1 + random() % 12});
        end += ranges.back().count + 1 + random() % 8;
    }
    return ranges;
}

void expect_ranges(Ranges const& ranges) { // ascending, disjoint, not touching, not empty
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        EXPECT_GT(ranges[i].count, 0u);
        EXPECT_TRUE(i == 0 || ranges[i].first > ranges[i - 1].first + ranges[i - 1].count);
    }
}

TEST(Coverage, RangesBehaveAsSetsDo) {
    std::mt19937 random(1);
    for (int i = 0; i < 3000; ++i) {
        auto const a = random_ranges(random), b = random_ranges(random);
        auto const set_a = items_of(a), set_b = items_of(b);
        Items both;
        std::set_intersection(set_a.begin(), set_a.end(), set_b.begin(), set_b.end(), std::inserter(both, both.end()));
        auto const result = intersect(a, b);
        expect_ranges(result);
        EXPECT_EQ(items_of(result), both);
        EXPECT_EQ(total(a), set_a.size());
        std::uint64_t const first = random() % 60, count = random() % 8;
        bool all = true;
        for (auto item = first; item < first + count; ++item) all = all && set_a.contains(item);
        EXPECT_EQ(contains(a, first, count), all);
    }
}

TEST(Coverage, BlocksAreKeptWholeAndAsManyRowsAsThatAllows) {
    std::mt19937 random(2);
    for (int i = 0; i < 3000; ++i) {
        std::uint64_t const block = 1 + random() % 6;
        auto const valid = random_ranges(random);
        auto const kept = keep_blocks(valid, block);
        expect_ranges(kept);
        auto const there = items_of(valid), items = items_of(kept);
        EXPECT_TRUE(std::includes(there.begin(), there.end(), items.begin(), items.end()));
        for (auto const& range : kept) EXPECT_EQ(range.first % block, 0u);
        for (std::size_t r = 0; r + 1 < kept.size(); ++r) EXPECT_EQ(kept[r].count % block, 0u);
        // Whole blocks in front of any row that is there, and the rows of its own block up to it.
        std::uint64_t most = 0, whole = 0, here = 0;
        for (std::uint64_t row = 0; row < 130; ++row) {
            if (row % block == 0) here = 0;
            if (there.contains(row) && here == row % block) most = std::max(most, whole + ++here);
            if (here == block) whole += block, here = 0;
        }
        EXPECT_EQ(items.size(), most);
    }
}

// Each page says of its items which page they are of, and how far into it: so every cut shows.
TEST(Coverage, MergedPagesHoldEachItemOnceAndPagesComeBeforeRows) {
    std::mt19937 random(3);
    auto const pages_of = [&](std::uint64_t offset) {
        std::vector<Page> pages(random() % 7);
        for (auto& page : pages) {
            page = {random() % 40, 1 + random() % 10, random() % 3, offset, 0, 0, 0, false, Page::Place::file};
            offset += 1000;
        }
        return pages;
    };
    for (int i = 0; i < 3000; ++i) {
        auto const pages = pages_of(0), waiting = pages_of(100'000);
        std::map<std::uint64_t, std::uint64_t> expected; // item: where it lies
        for (auto const& some : {pages, waiting}) {
            auto sorted = some;
            std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.first < b.first; });
            std::map<std::uint64_t, std::uint64_t> mine;
            for (auto const& page : sorted) {
                for (std::uint64_t k = 0; k < page.count; ++k)
                    mine.try_emplace(page.first + k, page.offset + page.skip + k);
            }
            for (auto const& [item, place] : mine) expected.try_emplace(item, place);
        }
        std::map<std::uint64_t, std::uint64_t> found;
        std::uint64_t end = 0;
        for (auto const& page : merged(pages, waiting)) {
            EXPECT_GE(page.first, end);
            end = page.first + page.count;
            for (std::uint64_t k = 0; k < page.count; ++k) found[page.first + k] = page.offset + page.skip + k;
        }
        EXPECT_EQ(found, expected);
    }
}

} // namespace
} // namespace thalweg::dataset
