#include "thalweg/format/rntuple/schema/schema.h"

#include <gtest/gtest.h>
#include <random>

#include "thalweg/base/error.h"
#include "thalweg/codec/root_codec.h"

namespace thalweg::format::rntuple {
namespace {

using model::Field;
using model::Kind;
using model::Scalar;

Field number(std::string name, Scalar scalar = Scalar::float32) { return {.name = std::move(name), .scalar = scalar}; }

Field list(std::string name, Field element, std::string type_name = "") {
    return {.name = std::move(name), .kind = Kind::list, .members = {std::move(element)}, .type_name = type_name};
}

Field record(std::string name, std::vector<Field> members, std::string type_name = "") {
    return {.name = std::move(name), .kind = Kind::record, .members = std::move(members), .type_name = type_name};
}

SchemaDescription described(model::Table const& table, std::string const& wish = "zstd-5") {
    model::TableLayout layout;
    for (auto const& column : model::flatten(table)) layout.columns.push_back({1, codec_of(column, wish)});
    return describe(table, layout);
}

std::vector<std::string> type_names(SchemaDescription const& schema) {
    std::vector<std::string> names;
    for (auto const& field : schema.fields) names.push_back(field.name + ": " + field.type_name);
    return names;
}

TEST(Schema, EveryCodecIsOneOfRootsAndWhatRootWouldTake) {
    EXPECT_EQ(codec_of({.scalar = Scalar::int32}, "zstd-5"), "root:splitint32+zstd-5");
    EXPECT_EQ(codec_of({.scalar = Scalar::int32}, "plain+lz4"), "root:int32+lz4");
    EXPECT_EQ(codec_of({.scalar = Scalar::float64}, "none"), "root:real64");
    EXPECT_EQ(codec_of({.scalar = Scalar::boolean}, "deflate-1"), "root:bit+deflate-1");
    EXPECT_EQ(codec_of({.role = model::Column::Role::lengths, .scalar = Scalar::uint64}, "zstd"),
              "root:splitindex64+zstd");
    for (int i = 0; i <= static_cast<int>(Scalar::float64); ++i) {
        for (auto const* const wish : {"zstd-5", "plain+zstd-5", "lz4", "deflate-9", "none", "plain+none"}) {
            auto const scalar = static_cast<Scalar>(i);
            EXPECT_NO_THROW(codec::make_root_codec(codec_of({.scalar = scalar}, wish), model::size_bytes(scalar)));
        }
    }
    EXPECT_THROW(codec_of({}, "shuffle+zstd"), base::UsageError);
    EXPECT_THROW(codec_of({}, "split+zstd"), base::UsageError);
    EXPECT_THROW(codec_of({.scalar = Scalar::complex64}, "none"), base::UsageError);
}

TEST(Schema, ComplexNumbersBecomeStructs) {
    auto psi = number("psi", Scalar::complex64);
    psi.shape = {4};
    psi.unit = "V";
    auto const stored = storable({{{"t", {list("x", psi)}}}});
    auto const& element = stored.tables[0].fields[0].members[0];
    EXPECT_EQ(element.kind, Kind::record);
    EXPECT_EQ(element.type_name, "complex64");
    EXPECT_EQ(element.shape, std::vector<std::uint64_t>{4});
    EXPECT_EQ(element.unit, "V");
    EXPECT_EQ(element.members[1].name, "imag");
    EXPECT_EQ(element.members[1].scalar, Scalar::float32);
    EXPECT_EQ(storable(stored), stored);
}

TEST(Schema, NamesThatRootCannotHoldAreRefused) {
    auto const says = [](std::string const& table, std::string const& field, std::string const& words) {
        try {
            storable({{{table, {record("s", {number(field)})}}}});
        } catch (base::UsageError const& error) {
            return std::string(error.what()).find(words) != std::string::npos;
        }
        return false;
    };
    EXPECT_TRUE(
        says("t", "a.b", "table 't', field 's', field 'a.b' cannot be stored in an RNTuple (its name holds '.')"));
    EXPECT_TRUE(says("t", "a b", "its name holds a space"));
    EXPECT_TRUE(says("t", "a\nb", "its name holds a control character"));
    EXPECT_TRUE(says("t\\u", "a", "table 't\\u' cannot be stored"));
    EXPECT_NO_THROW(storable({{{"ch0/raw", {number("\xc2\xb5")}}}}));
}

TEST(Schema, FieldsHaveRootsRolesNamesAndColumns) {
    auto energy = number("energy");
    energy.unit = "keV";
    energy.description = "calibrated";
    Field label{.name = "label", .kind = Kind::string, .shape = {2, 3}};
    model::Table const table{"ch0/raw", {number("t", Scalar::uint64), list("hits", record("", {energy})), label}};
    auto const schema = described(table);
    EXPECT_EQ(type_names(schema),
              (std::vector<std::string>{"t: std::uint64_t", "hits: std::vector<ch0::raw::hits>",
                                        "label: std::array<std::array<std::string,3>,2>", "_0: ch0::raw::hits",
                                        "energy: float", "_0: std::array<std::string,3>", "_0: std::string"}));
    EXPECT_EQ(schema.fields[4].description, "calibrated [keV]");
    EXPECT_EQ(schema.fields[4].parent, 3u);
    EXPECT_EQ(schema.fields[1].role, FieldRole::collection);
    EXPECT_EQ(schema.fields[3].role, FieldRole::record);
    EXPECT_NE(schema.fields[3].type_checksum.value_or(0), 0u);
    EXPECT_EQ(schema.fields[2].array_size, 2u);
    std::vector<std::pair<ColumnType, std::uint32_t>> columns;
    for (auto const& column : schema.columns) columns.emplace_back(column.type, column.field);
    EXPECT_EQ(columns, (std::vector<std::pair<ColumnType, std::uint32_t>>{{ColumnType::split_uint64, 0},
                                                                          {ColumnType::split_index64, 1},
                                                                          {ColumnType::split_real32, 4},
                                                                          {ColumnType::split_index64, 6},
                                                                          {ColumnType::character, 6}}));
}

TEST(Schema, GivenTypeNamesAreKeptAndReachInwards) {
    EXPECT_EQ(type_names(described({"t", {list("a", record("", {number("x")}), "std::vector<Hit>")}})),
              (std::vector<std::string>{"a: std::vector<Hit>", "_0: Hit", "x: float"}));
    EXPECT_EQ(type_names(described({"t", {list("a", record("", {number("x")}, "ns::Hit"))}})),
              (std::vector<std::string>{"a: std::vector<ns::Hit>", "_0: ns::Hit", "x: float"}));
    EXPECT_EQ(type_names(described({"t", {list("a", number(""), "std::optional<float>")}})),
              (std::vector<std::string>{"a: std::optional<float>", "_0: float"}));
    EXPECT_EQ(type_names(described({"t", {list("a", number(""), "ROOT::VecOps::RVec<float>")}})),
              (std::vector<std::string>{"a: std::vector<float>", "_0: float"}));
    EXPECT_EQ(type_names(described({"1 t", {record("a", {record("b", {number("x")})})}})),
              (std::vector<std::string>{"a: _1_t::a", "b: _1_t::a::b", "x: float"}));
}

// Without names of types: they are given to fields that had none.
Field without_types(Field field) {
    field.type_name.clear();
    for (auto& member : field.members) member = without_types(member);
    return field;
}

class RandomFields {
  public:
    explicit RandomFields(unsigned seed) : engine_(seed) {}

    std::vector<Field> fields(int depth) {
        std::vector<Field> fields(1 + below(3));
        for (std::size_t i = 0; i < fields.size(); ++i)
            fields[i] = field(depth, std::string(1, static_cast<char>('a' + i)));
        return fields;
    }

  private:
    Field field(int depth, std::string name) {
        Field field{.name = std::move(name), .kind = static_cast<Kind>(below(depth > 0 ? 4 : 2))};
        if (field.kind == Kind::scalar) field.scalar = static_cast<Scalar>(below(11));
        for (auto dimensions = below(3); dimensions > 0; --dimensions) field.shape.push_back(1 + below(4));
        if (field.kind == Kind::list) field.members = {this->field(depth - 1, "")};
        if (field.kind == Kind::record) field.members = fields(depth - 1);
        if (below(4) == 0) field.description = "what it is";
        return field;
    }

    std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

    std::mt19937_64 engine_;
};

TEST(Schema, WhatIsDescribedIsReadBack) {
    RandomFields random(3);
    for (int i = 0; i < 300; ++i) {
        model::Table const table{"t/u", random.fields(3), "all kinds"};
        for (auto const* const wish : {"zstd-5", "none"}) {
            Header const header{0, "u", "all kinds", "", described(table, wish)};
            auto const read = read_table("t/u", header, header.schema);
            ASSERT_TRUE(read.left_out.empty()) << read.left_out[0].str();
            ASSERT_EQ(without_types({.members = read.table.fields}), (Field{.members = table.fields}));
            EXPECT_EQ(read.table.description, "all kinds");
            ASSERT_EQ(read.sources.size(), read.columns.size());
            for (std::size_t c = 0; c < read.columns.size(); ++c) {
                auto const& column = read.columns[c];
                auto const& representation = read.sources[c].representations.at(0);
                EXPECT_EQ(representation.physical, c);
                EXPECT_EQ(read.sources[c].sums, column.role == model::Column::Role::lengths);
                EXPECT_EQ(read.layout.columns[c].codec, representation.codec);
                EXPECT_NO_THROW(codec::make_root_codec(representation.codec, model::size_bytes(column.scalar)));
            }
        }
    }
}

} // namespace
} // namespace thalweg::format::rntuple
