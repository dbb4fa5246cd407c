#include "thalweg/model/readable_names.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"

namespace thalweg::model {
namespace {

Schema schema_with(std::string const& table, std::string const& field, std::string const& unit) {
    Field leaf{field, Kind::scalar, Scalar::int32, {}, {}, unit, ""};
    return {{{table, {{"outer", Kind::record, Scalar::float64, {}, {leaf}, "", ""}}, ""}}};
}

TEST(ReadableNames, AreShownAndNotedAndPathsFollow) {
    RunMap map{{"", 0, schema_with("ta\xff", "x\xfe", "m\xfd"), {}, {}, {}},
               {},
               {{"k\xfc", "v\xfb"}},
               true,
               {{"/\xfe", "\xfd"}}};
    map.head.columns.push_back(flatten(map.head.schema.tables[0]));
    make_names_readable(map);
    auto const& table = map.head.schema.tables[0];
    EXPECT_EQ(table.name, "ta\\xff");
    EXPECT_EQ(table.fields[0].members[0].name, "x\\xfe");
    EXPECT_EQ(table.fields[0].members[0].unit, "m\\xfd");
    EXPECT_EQ(map.head.columns[0][0].path, flatten(table)[0].path);
    EXPECT_EQ(map.left_out, (std::vector<LeftOut>{{"/\\xfe", "\\xfd"}}));
    EXPECT_EQ(map.metadata, (std::map<std::string, std::string>{{"k\\xfc", "v\\xfb"}}));
    ASSERT_EQ(map.notes.size(), 5u);
    EXPECT_EQ(map.notes[0],
              "the unit of field 'x\\xfe' of field 'outer' of table 'ta\\xff' is no UTF-8: bytes that are "
              "none are shown as \\xHH");
    EXPECT_EQ(to_json(map.head).empty(), false); // which refuses what is no UTF-8
}

TEST(ReadableNames, OfATextThatIsSoundNothingIsSaid) {
    RunMap map{{"", 0, schema_with("t\u00e4", "x", "\u00b5s"), {}, {}, {}}, {}, {{"k", "\u20ac"}}, true, {}, {"so"}};
    auto const before = map.head.schema;
    make_names_readable(map);
    EXPECT_EQ(map.head.schema, before);
    EXPECT_EQ(map.notes, std::vector<std::string>{"so"});
}

TEST(ReadableNames, ARunIsNotCreatedWithOthers) {
    EXPECT_THROW(make_run_head(schema_with("ta\xff", "x", ""), {}, {}), base::UsageError);
    EXPECT_THROW(make_run_head(schema_with("t", "x", "m\xff"), {}, {}), base::UsageError);
    EXPECT_THROW(make_run_head(schema_with("t", "x", "m"), {}, {{"k", "\xff"}}), base::UsageError);
    EXPECT_NO_THROW(make_run_head(schema_with("t", "x", "\u00b5s"), {}, {{"k", "\u20ac"}}));
}

} // namespace
} // namespace thalweg::model
