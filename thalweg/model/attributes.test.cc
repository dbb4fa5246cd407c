#include "thalweg/model/attributes.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "thalweg/base/error.h"
#include "thalweg/model/schema.h"

namespace thalweg::model {
namespace {

template <typename Value>
Attribute numbers(std::string name, Scalar scalar, std::vector<std::uint64_t> shape, std::vector<Value> const& values) {
    Attribute attribute{std::move(name), scalar, std::move(shape), {}, {}};
    attribute.values.resize(values.size() * sizeof(Value));
    if (!values.empty()) std::memcpy(attribute.values.data(), values.data(), attribute.values.size());
    return attribute;
}

Attribute text(std::string name, std::string value) { return {std::move(name), {}, {}, {}, {std::move(value)}}; }

Schema with(Attributes attributes) {
    Field field{.name = "x", .scalar = Scalar::int32};
    field.attributes = attributes;
    return {{{"t", {field}, "", attributes}}, attributes, {{"other/group", attributes}}};
}

std::string refused(Schema const& schema) {
    try {
        validate(schema);
    } catch (base::UsageError const& error) {
        return error.what();
    }
    return "";
}

TEST(Attributes, JsonKeepsEveryBit) {
    using Float = std::numeric_limits<float>;
    using Double = std::numeric_limits<double>;
    Attributes const attributes{
        numbers<std::int8_t>("a", Scalar::boolean, {2}, {1, 0}),
        numbers<std::int64_t>("b", Scalar::int64, {}, {std::numeric_limits<std::int64_t>::min()}),
        numbers<std::uint64_t>("c", Scalar::uint64, {}, {std::numeric_limits<std::uint64_t>::max()}),
        numbers<float>("d", Scalar::float32, {2, 2}, {0.1f, Float::denorm_min(), -0.0f, Float::infinity()}),
        numbers<double>("e", Scalar::float64, {3}, {0.1, Double::max(), -Double::infinity()}),
        numbers<double>("f", Scalar::complex128, {1}, {1.5, -2.5}),
        numbers<float>("g", Scalar::complex64, {}, {0.1f, -0.0f}),
        numbers<double>("h", Scalar::float64, {0}, {}),
        text("i", "\xc2\xb5s \"quoted\""),
        {"j", {}, {2, 1}, {}, {"", "two"}},
    };
    EXPECT_EQ(refused(with(attributes)), "");
    auto const again = schema_from_json(to_json(with(attributes)));
    EXPECT_EQ(again, with(attributes));
    auto const nan = schema_from_json(to_json(with({numbers<double>("n", Scalar::float64, {}, {NAN})})));
    double value = 0;
    std::memcpy(&value, nan.attributes[0].values.data(), sizeof value);
    EXPECT_TRUE(std::isnan(value));
}

TEST(Attributes, ASchemaWithoutAnySaysNothingOfThem) {
    EXPECT_EQ(to_json(with({})).find("attributes\""), std::string::npos);
    EXPECT_EQ(without_attributes(with({text("a", "b")})), without_attributes(with({})));
}

TEST(Attributes, WhatCannotBeKeptIsRefusedByName) {
    EXPECT_NE(refused(with({text("", "x")})).find("its name is empty"), std::string::npos);
    EXPECT_NE(refused(with({text("a", "\xff")})).find("attribute 'a' of table 't'"), std::string::npos);
    EXPECT_NE(refused(with({text("b", "x"), text("a", "x")})), "");
    EXPECT_NE(refused(with({text("a", "x"), text("a", "x")})), "");
    EXPECT_NE(refused(with({text("datatype", "x")})).find("says that already"), std::string::npos);
    EXPECT_NE(refused(with({numbers<double>("a", Scalar::float64, {3}, {1, 2})})).find("shape"), std::string::npos);
    auto const large = std::string(kMaxAttributeBytes + 1, 'x');
    EXPECT_NE(refused(with({text("a", large)})).find("more than 1 MiB"), std::string::npos);
    auto schema = with({text("units", "mm")});
    EXPECT_EQ(refused(schema), "");
    schema.tables[0].fields[0].unit = "cm";
    EXPECT_NE(refused(schema).find("attribute 'units' of table 't', field 'x'"), std::string::npos);
    auto inside = with({});
    inside.groups[0].name = "t/x";
    EXPECT_NE(refused(inside).find("it lies in a table"), std::string::npos);
}

TEST(Attributes, NumbersThatDoNotFitAreDamage) {
    auto const json = [](std::string const& type, std::string const& value) {
        return R"({"tables":[{"name":"t","fields":[{"name":"x","type":"int8"}]}],"attributes":{"a":{"type":")" + type +
               R"(","value":)" + value + "}}}";
    };
    EXPECT_NO_THROW(schema_from_json(json("int8", "-128")));
    for (auto const& [type, value] : {std::pair("int8", "128"),
                                      {"uint8", "-1"},
                                      {"int64", "9223372036854775808"},
                                      {"int32", "1.5"},
                                      {"float64", "\"many\""},
                                      {"bool", "1"},
                                      {"string", "1"},
                                      {"complex64", "[1]"},
                                      {"time", "1"}}) {
        EXPECT_THROW(schema_from_json(json(type, value)), base::DataError) << type << " " << value;
    }
}

} // namespace
} // namespace thalweg::model
