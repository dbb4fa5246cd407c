#include "thalweg/model/page.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

#include "thalweg/base/error.h"
#include "thalweg/model/run.h"

namespace thalweg::model {
namespace {

std::vector<Column> two_columns() {
    Field narrow{"t", Kind::scalar, Scalar::uint64, {}, {}, "", ""};
    Field wide{"w", Kind::scalar, Scalar::uint16, {1000}, {}, "", ""};
    return flatten({"x", {narrow, wide}, ""});
}

TableLayout layout_of(std::uint64_t narrow_items, std::uint64_t wide_items) {
    return {{{narrow_items, "none"}, {wide_items, "none"}}, narrow_items};
}

Part part_with(std::vector<RowRange> rows) { return {0, {}, std::move(rows)}; }

TEST(OrderOfRows, HoldsEveryRowOnceAndKeepsFullPagesOnTheGrid) {
    std::mt19937 random(7);
    auto const columns = two_columns();
    auto const layout = layout_of(64, 8);
    for (int round = 0; round < 200; ++round) {
        std::vector<Part> parts;
        for (auto n = random() % 5; n > 0; --n) {
            std::vector<RowRange> ranges;
            if (random() % 3 == 0) ranges.push_back({0, 64 * (1 + random() % 3)});
            auto const begin = ranges.empty() ? 0 : ranges[0].count + 64 * (1 + random() % 2);
            ranges.push_back({begin, random() % 300});
            parts.push_back(part_with(ranges));
        }
        std::map<std::pair<std::size_t, std::uint64_t>, int> seen;
        std::uint64_t position = 0;
        for (auto const& segment : order_of_rows(layout, columns, parts)) {
            for (std::uint64_t i = 0; i < segment.rows; ++i) ++seen[{segment.part, segment.first_row + i}];
            // A full page of a column, wherever it lies in its part, begins on that column's grid in the table.
            for (auto const items : {8u, 64u}) {
                auto const first_page = (segment.first_row + items - 1) / items * items;
                if (first_page + items <= segment.first_row + segment.rows && segment.rows % items == 0) {
                    EXPECT_EQ((position + first_page - segment.first_row) % items, 0u);
                }
            }
            position += segment.rows;
        }
        std::uint64_t expected = 0;
        for (std::size_t p = 0; p < parts.size(); ++p) {
            for (auto const& rows : parts[p].rows) {
                expected += rows.count;
                for (auto row = rows.first; row < rows.first + rows.count; ++row) EXPECT_EQ((seen[{p, row}]), 1);
            }
        }
        EXPECT_EQ(position, expected);
    }
}

TEST(OrderOfRows, TailsFollowWholeBlocksStepByStep) {
    auto const columns = two_columns();
    std::vector<Part> const parts{part_with({{0, 64 + 19}}), part_with({{0, 30}})};
    auto const segments = order_of_rows(layout_of(64, 8), columns, parts);
    ASSERT_EQ(segments.size(), 5u);
    EXPECT_EQ(segments[0].rows, 64u);
    EXPECT_EQ(segments[1].rows, 16u);
    EXPECT_EQ(segments[2].rows, 24u);
    EXPECT_EQ(segments[3].first_row, 80u);
    EXPECT_EQ(segments[4].first_row, 24u);
}

TEST(Slice, CutsAtBothEndsAndRefusesGaps) {
    std::vector<Page> pages{{0, 10, 0}, {10, 5, 3}, {20, 10, 0}};
    auto const pieces = slice(pages, 8, 7);
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_EQ(pieces[0].skip, 8u);
    EXPECT_EQ(pieces[0].count, 2u);
    EXPECT_EQ(pieces[1].skip, 3u);
    EXPECT_EQ(pieces[1].count, 5u);
    EXPECT_TRUE(slice(pages, 12, 0).empty());
    EXPECT_THROW(slice(pages, 14, 3), base::DataError);
    EXPECT_THROW(slice(pages, 29, 2), base::DataError);
}

TEST(RunHead, RoundTripsThroughJsonAndRefusesALayoutThatDoesNotFit) {
    Field field{"t", Kind::scalar, Scalar::uint64, {}, {}, "ns", ""};
    auto const head = make_run_head({{{"ch0", {field}, ""}}}, {}, {{"run", "12"}});
    auto const copy = run_head_from_json(to_json(head));
    EXPECT_EQ(copy.id, head.id);
    EXPECT_EQ(copy.schema, head.schema);
    EXPECT_EQ(copy.metadata, head.metadata);
    EXPECT_EQ(copy.layouts[0].block_rows, head.layouts[0].block_rows);
    auto text = to_json(head);
    text.replace(text.find("\"page_items\":") + 13, 1, "0");
    EXPECT_THROW(run_head_from_json(text), base::DataError);
}

} // namespace
} // namespace thalweg::model
