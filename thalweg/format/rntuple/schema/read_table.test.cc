// Tables as others describe them.
#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/codec/root_codec.h"
#include "thalweg/format/rntuple/envelopes/test_descriptions.h"
#include "thalweg/format/rntuple/schema/schema.h"
#include "thalweg/format/rntuple/schema/schema_types.h"

namespace thalweg::format::rntuple {
namespace {

using model::Kind;
using model::Scalar;

// A schema in the making.
class Foreign {
  public:
    std::uint32_t add(FieldRole role, std::string name, std::string type, std::optional<std::uint32_t> parent = {},
                      std::vector<ColumnType> columns = {}) {
        auto const index = static_cast<std::uint32_t>(schema.fields.size());
        schema.fields.push_back({0, 0, parent.value_or(index), role, std::move(name), std::move(type)});
        for (auto const column : columns) add_column(index, column, 0);
        return index;
    }

    void add_column(std::uint32_t field, ColumnType type, std::uint16_t representation, std::uint16_t bits = 0) {
        if (bits == 0) bits = facts_of(type)->bits;
        schema.columns.push_back({type, bits, field, representation, {}, {}});
    }

    ForeignTable read() const { return read_table("t", {}, schema); }
    // The one that there is.
    model::LeftOut left_out() const {
        auto const table = read();
        return table.left_out.size() == 1 ? table.left_out[0] : model::LeftOut{};
    }

    SchemaDescription schema;
};

std::vector<std::string> codecs(ForeignTable const& table) {
    std::vector<std::string> names;
    for (auto const& source : table.sources) names.push_back(source.representations[0].codec);
    return names;
}

std::vector<std::string> paths(ForeignTable const& table) {
    std::vector<std::string> names;
    for (auto const& column : table.columns) names.push_back(column.path);
    return names;
}

using Names = std::vector<std::string>;

TEST(ReadTable, OptionalsAreListsAndVariantsStructsOfThem) {
    Foreign foreign;
    auto const variant =
        foreign.add(FieldRole::variant, "v", "std::variant<float,std::string>", {}, {ColumnType::switch_});
    foreign.add(FieldRole::leaf, "_0", "float", variant, {ColumnType::real32});
    foreign.add(FieldRole::leaf, "_1", "std::string", variant, {ColumnType::index32, ColumnType::character});
    auto const optional =
        foreign.add(FieldRole::collection, "o", "std::optional<bool>", {}, {ColumnType::split_index64});
    foreign.add(FieldRole::leaf, "_0", "bool", optional, {ColumnType::bit});
    auto const table = foreign.read();
    EXPECT_TRUE(table.left_out.empty());
    EXPECT_EQ(paths(table), (Names{"v/_0", "v/_0/*", "v/_1", "v/_1/*", "v/_1/*/*", "o", "o/*"}));
    EXPECT_EQ(codecs(table), (Names{"root:switch-1", "root:real32", "root:switch-2", "root:index32", "root:char",
                                    "root:splitindex64", "root:bit"}));
    std::vector<bool> sums;
    for (auto const& source : table.sources) sums.push_back(source.sums);
    EXPECT_EQ(sums, (std::vector<bool>{false, false, false, true, false, true, false}));
    EXPECT_EQ(table.table.fields[0].type_name, "std::variant<float,std::string>");
    EXPECT_EQ(table.table.fields[0].members[1].type_name, "std::optional<std::string>");
    EXPECT_EQ(table.table.fields[1].type_name, "std::optional<bool>");
}

TEST(ReadTable, BitsetsEnumsAtomicsAndCardinalities) {
    Foreign foreign;
    auto const bitset = foreign.add(FieldRole::leaf, "b", "std::bitset<12>", {}, {ColumnType::bit});
    foreign.schema.fields[bitset].array_size = 12;
    auto const colour = foreign.add(FieldRole::leaf, "e", "Colour");
    foreign.add(FieldRole::leaf, "_0", "std::int16_t", colour, {ColumnType::int16});
    foreign.add(FieldRole::leaf, "n", "ROOT::RNTupleCardinality<std::uint32_t>", {}, {ColumnType::index64});
    auto const table = foreign.read();
    ASSERT_EQ(table.table.fields.size(), 3u);
    EXPECT_EQ(table.table.fields[0].scalar, Scalar::boolean);
    EXPECT_EQ(table.table.fields[0].shape, std::vector<std::uint64_t>{12});
    EXPECT_EQ(table.table.fields[0].type_name, "");
    EXPECT_EQ(table.table.fields[1].scalar, Scalar::int16);
    EXPECT_EQ(table.table.fields[1].type_name, "Colour");
    EXPECT_EQ(table.table.fields[2].scalar, Scalar::uint64);
    EXPECT_TRUE(table.sources[2].sums);
    EXPECT_EQ(table.columns[2].role, model::Column::Role::values);
}

TEST(ReadTable, TheNumberOfAnEnumHasASignWhereRootCallsItAChar) {
    Foreign foreign;
    auto const answer = foreign.add(FieldRole::leaf, "e", "Answer");
    foreign.add(FieldRole::leaf, "_0", "char", answer, {ColumnType::character});
    foreign.add(FieldRole::leaf, "c", "char", {}, {ColumnType::character});
    auto const table = foreign.read();
    EXPECT_EQ(table.table.fields[0].scalar, Scalar::int8);
    EXPECT_EQ(table.columns[0].scalar, Scalar::int8);
    EXPECT_EQ(table.table.fields[0].type_name, "Answer");
    EXPECT_EQ(table.table.fields[1].scalar, Scalar::uint8);
}

TEST(ReadTable, NarrowReals) {
    Foreign foreign;
    foreign.add(FieldRole::leaf, "half", "float", {}, {ColumnType::real16});
    foreign.add_column(foreign.add(FieldRole::leaf, "cut", "float"), ColumnType::real32_truncated, 0, 18);
    foreign.add_column(foreign.add(FieldRole::leaf, "steps", "double"), ColumnType::real32_quantized, 0, 20);
    foreign.schema.columns.back().range = {-1e-5, 1e20};
    auto const table = foreign.read();
    EXPECT_EQ(codecs(table), (Names{"root:real16", "root:truncated-18", "root:quantized-20--1e-05-1e+20"}));
    for (auto const& column : table.columns) {
        EXPECT_EQ(column.scalar, Scalar::float32);
        EXPECT_NO_THROW(codec::make_root_codec(codecs(table)[&column - table.columns.data()], 4));
    }
}

TEST(ReadTable, EveryRepresentationIsListedWithItsOwnCodec) {
    Foreign foreign;
    auto const text =
        foreign.add(FieldRole::leaf, "s", "std::string", {}, {ColumnType::split_index64, ColumnType::character});
    foreign.add(FieldRole::leaf, "x", "float", {}, {ColumnType::split_real32});
    foreign.add_column(text, ColumnType::index32, 1);
    foreign.schema.columns.back().first_element = -100;
    foreign.add_column(text, ColumnType::character, 1);
    auto const table = foreign.read();
    using Representations = std::vector<ForeignTable::Representation>;
    EXPECT_EQ(table.sources[0].representations,
              (Representations{{0, "root:splitindex64", {}}, {3, "root:index32", -100}}));
    EXPECT_EQ(table.sources[1].representations, (Representations{{1, "root:char", {}}, {4, "root:char", {}}}));
    EXPECT_EQ(table.sources[2].representations, (Representations{{2, "root:splitreal32", {}}}));
}

TEST(ReadTable, ProjectedFieldsReadTheColumnsOfTheirSource) {
    Foreign foreign;
    auto const hits = foreign.add(FieldRole::collection, "hits", "std::vector<Hit>", {}, {ColumnType::index64});
    auto const hit = foreign.add(FieldRole::record, "_0", "Hit", hits);
    foreign.add(FieldRole::leaf, "x", "float", hit, {ColumnType::real32});
    auto const x = foreign.add(FieldRole::collection, "hits_x", "std::vector<float>");
    auto const element = foreign.add(FieldRole::leaf, "_0", "float", x);
    foreign.schema.aliases = {{0, x}, {1, element}};
    auto const table = foreign.read();
    EXPECT_EQ(paths(table), (Names{"hits", "hits/*/x", "hits_x", "hits_x/*"}));
    EXPECT_EQ(table.sources[2], table.sources[0]);
    EXPECT_EQ(table.sources[3], table.sources[1]);
}

TEST(ReadTable, WhatCannotBeReadIsLeftOutAndItsSiblingsStay) {
    Foreign foreign;
    auto const record = foreign.add(FieldRole::record, "r", "Thing");
    foreign.add(FieldRole::streamer, "old", "TObject", record, {ColumnType::index64, ColumnType::byte});
    foreign.add(FieldRole::leaf, "x", "float", record, {ColumnType::real32});
    EXPECT_EQ(foreign.left_out(), (model::LeftOut{"t/r.old", "objects streamed by ROOT are not read"}));
    EXPECT_EQ(paths(foreign.read()), (Names{"r/x"}));

    auto const alone = [](FieldRole role, std::string type, std::vector<ColumnDescription> columns) {
        Foreign one;
        one.add(role, "x", std::move(type));
        one.schema.columns = std::move(columns);
        EXPECT_TRUE(one.read().table.fields.empty());
        return one.left_out().why;
    };
    EXPECT_NE(alone(FieldRole::leaf, "new", {{static_cast<ColumnType>(0x42), 8}}).find("column type 0x42"),
              std::string::npos);
    EXPECT_NE(alone(FieldRole::leaf, "float", {{ColumnType::real32, 31}}).find("31 bits"), std::string::npos);
    EXPECT_NE(alone(static_cast<FieldRole>(9), "new", {}).find("structure"), std::string::npos);
    EXPECT_NE(alone(FieldRole::record, "Empty", {}).find("no members"), std::string::npos);
    EXPECT_NE(alone(FieldRole::leaf, "float", {}).find("0 columns"), std::string::npos);
    EXPECT_NE(alone(FieldRole::leaf, "double", {{ColumnType::real64, 64, 0, 0}, {ColumnType::real32, 32, 0, 1}})
                  .find("several precisions"),
              std::string::npos);
}

TEST(ReadTable, DanglingReferencesAreRefused) {
    Foreign foreign;
    foreign.add(FieldRole::leaf, "x", "float", 7);
    EXPECT_THROW(foreign.read(), base::DataError);
}

// Depth and sizes without bound, loops: nothing of it ends badly.
TEST(ReadTable, StrangeTreesAreSurvived) {
    Foreign deep;
    auto parent = deep.add(FieldRole::record, "r", "");
    for (int i = 0; i < 100'000; ++i) parent = deep.add(FieldRole::record, "r", "", parent);
    EXPECT_NE(deep.left_out().why.find("nested too deeply"), std::string::npos);

    Foreign loop;
    loop.add(FieldRole::record, "a", "", 1);
    loop.add(FieldRole::record, "b", "", 0);
    EXPECT_TRUE(loop.read().table.fields.empty());

    Foreign large;
    auto const outer = large.add(FieldRole::leaf, "a", "");
    auto const inner = large.add(FieldRole::leaf, "_0", "", outer);
    large.add(FieldRole::leaf, "_0", "bool", inner, {ColumnType::bit});
    large.schema.fields[outer].array_size = large.schema.fields[inner].array_size = 1 << 20;
    EXPECT_NE(large.left_out().why.find("too large"), std::string::npos);

    RandomDescriptions random(4);
    for (int i = 0; i < 2000; ++i) {
        auto const header = random.header();
        auto const table = read_table("t", header, header.schema);
        EXPECT_EQ(table.sources.size(), table.columns.size());
        EXPECT_EQ(table.layout.columns.size(), table.columns.size());
    }
}

} // namespace
} // namespace thalweg::format::rntuple
