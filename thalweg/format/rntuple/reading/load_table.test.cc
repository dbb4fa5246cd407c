// Page maps of tables that others wrote.
#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/reading/load_table.h"

namespace thalweg::format::rntuple {
namespace {

using Place = model::Page::Place;

// A table whose writer added fields behind the first 10 rows, in front of the 3 last rows of the second cluster.
class GrownTable {
  public:
    GrownTable() {
        ntuple.path = "t";
        add(ntuple.header.schema, 0, "early", "std::int32_t", {{ColumnType::int32, 32, 0}});
        auto& more = ntuple.extension;
        add(more, 1, "late", "std::int32_t", {{ColumnType::int32, 32, 1, 0, 12}});
        add(more, 2, "list", "std::vector<float>", {{ColumnType::index64, 64, 2, 0, 12}});
        more.fields.back().role = FieldRole::collection;
        add(more, 2, "_0", "float", {{ColumnType::real32, 32, 3}}); // elements of lists are not said to be deferred
        ntuple.clusters = {{0, 10, {range(10)}}, {10, 5, {range(5), range(3), range(3), range(7)}}};
    }

    model::TableMap load() const {
        auto schema = ntuple.header.schema;
        auto const& more = ntuple.extension;
        schema.fields.insert(schema.fields.end(), more.fields.begin(), more.fields.end());
        schema.columns.insert(schema.columns.end(), more.columns.begin(), more.columns.end());
        auto const table = read_table("t", ntuple.header, schema);
        EXPECT_EQ(table.table.fields.size(), 3u);
        return load_table(ntuple, table.columns, table.sources);
    }

    std::string failure() const {
        try {
            load();
        } catch (base::DataError const& error) {
            return error.what();
        }
        return "";
    }

    static ColumnRange range(std::uint32_t elements) {
        return {{{elements, false, {1000, elements * 8}}}, 0, 0, false};
    }

    StoredNTuple ntuple;

  private:
    static void add(SchemaDescription& schema, std::uint32_t parent, std::string name, std::string type,
                    std::vector<ColumnDescription> columns) {
        schema.fields.push_back({0, 0, parent, FieldRole::leaf, std::move(name), std::move(type)});
        schema.columns.insert(schema.columns.end(), columns.begin(), columns.end());
    }
};

TEST(LoadTable, RowsThatAreOlderThanAColumnReadAsZerosAndEmptyLists) {
    auto const map = GrownTable().load();
    EXPECT_EQ(map.rows, 15u);
    ASSERT_EQ(map.columns.size(), 4u);
    EXPECT_EQ(map.columns[0].pages.size(), 2u);
    for (auto const column : {1, 2}) {
        auto const& pages = map.columns[column].pages;
        ASSERT_EQ(pages.size(), 3u);
        EXPECT_EQ(pages[0].place, Place::nowhere);
        EXPECT_EQ(pages[0].count, 10u);
        EXPECT_EQ(pages[1].place, Place::nowhere);
        EXPECT_EQ(pages[1].count, 2u);
        EXPECT_EQ(pages[1].cluster, 10u);
        EXPECT_EQ(pages[2].place, Place::file);
        EXPECT_EQ(pages[2].first, 12u);
    }
    auto const& elements = map.columns[3].pages;
    ASSERT_EQ(elements.size(), 1u);
    EXPECT_EQ(elements[0].first, 0u);
    EXPECT_EQ(elements[0].count, 7u);
}

TEST(LoadTable, WhatIsMissingBehindTheFirstElementIsAFault) {
    GrownTable lost;
    lost.ntuple.clusters[1].columns[1] = GrownTable::range(2);
    EXPECT_NE(lost.failure().find("column 'late' cannot be read (the cluster at row 10 has 2 elements instead of 5)"),
              std::string::npos)
        << lost.failure();
    GrownTable unlisted;
    unlisted.ntuple.clusters[1].columns.resize(1);
    EXPECT_NE(unlisted.failure().find("the cluster at row 10 has 0 elements instead of 5"), std::string::npos)
        << unlisted.failure();
}

TEST(LoadTable, AColumnOfTheHeaderIsInEveryCluster) {
    GrownTable lost;
    lost.ntuple.clusters[0].columns.clear();
    EXPECT_NE(lost.failure().find("column 'early' cannot be read (the cluster at row 0 does not have it)"),
              std::string::npos)
        << lost.failure();
}

} // namespace
} // namespace thalweg::format::rntuple
