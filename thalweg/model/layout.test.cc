#include "thalweg/model/layout.h"

#include <gtest/gtest.h>

#include "thalweg/model/testing.h"

namespace thalweg::model {
namespace {

TEST(Flatten, NamesWhatIsInsideListsAndCountsItems) {
    Field hit{"", Kind::record, {}, {}, {scalar("e", Scalar::float32), scalar("xyz", Scalar::int16, {3})}, "", ""};
    Field hits{"hits", Kind::list, {}, {2}, {hit}, "", ""};
    Field tag{"tag", Kind::string, {}, {}, {}, "", ""};
    auto const columns = flatten({"t", {scalar("id", Scalar::uint64), hits, tag}, ""});
    ASSERT_EQ(columns.size(), 6u);
    EXPECT_EQ(columns[0].path, "id");
    EXPECT_EQ(columns[1].path, "hits");
    EXPECT_EQ(columns[1].role, Column::Role::lengths);
    EXPECT_EQ(columns[1].values_per_item, 2u);
    EXPECT_FALSE(columns[1].parent);
    EXPECT_EQ(columns[2].path, "hits/*/e");
    EXPECT_EQ(columns[2].parent, 1u);
    EXPECT_EQ(columns[2].values_per_item, 1u);
    EXPECT_EQ(columns[3].item_bytes(), 6u);
    EXPECT_EQ(columns[5].path, "tag/*");
    EXPECT_EQ(columns[5].parent, 4u);
}

TEST(Layout, PagesOfOneTableDivideEachOther) {
    auto const columns = flatten({"ch0",
                                  {scalar("timestamp", Scalar::uint64), scalar("flag", Scalar::boolean),
                                   scalar("waveform", Scalar::uint16, {10'496})},
                                  ""});
    auto const layout = plan_layout(columns, {});
    EXPECT_EQ(layout.columns[2].page_items, 48u); // the largest multiple of 8 rows within 1 MiB
    for (auto const& column : layout.columns) EXPECT_EQ(layout.block_rows % column.page_items, 0u);
    EXPECT_EQ(layout.columns[0].page_items, 48u * 64);
    EXPECT_EQ(layout.columns[1].page_items, 48u * 64) << "twice as many would make a block of more than 64 MiB";
    EXPECT_EQ(layout.block_rows, 48u * 64);
}

TEST(Layout, ManyColumnsStayWithinTheTablesMemory) {
    std::vector<Field> fields;
    for (int i = 0; i < 1000; ++i) fields.push_back(scalar("x" + std::to_string(i), Scalar::float64));
    auto const columns = flatten({"wide", fields, ""});
    auto const layout = plan_layout(columns, {});
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) total += layout.columns[i].page_items * columns[i].item_bytes();
    EXPECT_LE(total, LayoutOptions{}.table_page_bytes);
    EXPECT_GE(layout.columns[0].page_items, 256u);
}

TEST(Layout, AnItemLargerThanThePageGetsAPageOfItsOwn) {
    auto const columns =
        flatten({"t", {scalar("image", Scalar::float64, {4096, 4096}), scalar("n", Scalar::int32)}, ""});
    auto const layout = plan_layout(columns, {});
    EXPECT_EQ(layout.columns[0].page_items, 1u);
    EXPECT_EQ(layout.columns[1].page_items, 64u);
}

} // namespace
} // namespace thalweg::model
