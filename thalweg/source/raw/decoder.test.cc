#include "thalweg/source/raw/decoder.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/model/column.h"
#include "thalweg/source/raw/testing.h"

namespace thalweg::source::raw {
namespace {

using namespace testing;
using model::Scalar;

template <typename Value> std::vector<Value> values(std::span<std::byte const> column) {
    std::vector<Value> all(column.size() / sizeof(Value));
    if (!all.empty()) std::memcpy(all.data(), column.data(), column.size());
    return all;
}

Rows rows_of(Row const& row, Content const& bytes) {
    auto const row_bytes = shape_of(row).fixed_bytes;
    return {.base = bytes.data(), .count = bytes.size() / row_bytes, .stride = row_bytes};
}

std::string refusal(Row const& row) {
    try {
        shape_of(row);
    } catch (base::UsageError const& error) {
        return error.what();
    }
    return "";
}

TEST(Decoder, EachFieldBecomesAColumnInItsByteOrder) {
    Row const row{.fields = {{.name = "a", .scalar = Scalar::uint16, .big_endian = true},
                             {.name = "b", .scalar = Scalar::int32},
                             {.name = "c", .scalar = Scalar::uint16, .big_endian = true, .shape = {3}},
                             {.name = "gap", .role = RowField::Role::skip, .shape = {5}},
                             {.name = "d", .scalar = Scalar::complex64, .big_endian = true},
                             {.name = "e", .scalar = Scalar::uint64, .big_endian = true}}};
    Content bytes;
    for (std::uint16_t i = 1; i <= 3; ++i) {
        put(bytes, __builtin_bswap16(i)), put(bytes, std::int32_t{-i});
        for (std::uint16_t k = 0; k < 3; ++k) put(bytes, __builtin_bswap16(static_cast<std::uint16_t>(10 * i + k)));
        put(bytes, text("xxxxx"));
        put(bytes, __builtin_bswap32(0x3F80'0000)), put(bytes, __builtin_bswap32(0x4000'0000)); // 1, 2
        put(bytes, __builtin_bswap64(std::uint64_t{i} << 40));
    }
    Decoder decoder(row);
    auto const columns = decoder.decode(rows_of(row, bytes));
    ASSERT_EQ(columns.size(), model::flatten(table_of(row)).size());
    EXPECT_EQ(values<std::uint16_t>(columns[0]), (std::vector<std::uint16_t>{1, 2, 3}));
    EXPECT_EQ(values<std::int32_t>(columns[1]), (std::vector<std::int32_t>{-1, -2, -3}));
    EXPECT_EQ(values<std::uint16_t>(columns[2]), (std::vector<std::uint16_t>{10, 11, 12, 20, 21, 22, 30, 31, 32}));
    EXPECT_EQ(values<float>(columns[3]), (std::vector<float>{1, 2, 1, 2, 1, 2}));
    EXPECT_EQ(values<std::uint64_t>(columns[4])[2], std::uint64_t{3} << 40);
}

TEST(Decoder, BitsBecomeTheSmallestIntegers) {
    Row const row{.fields = {{.name = "word",
                              .scalar = Scalar::uint32,
                              .big_endian = true,
                              .bits = {{.name = "flag", .first = 31, .count = 1},
                                       {.name = "channel", .first = 0, .count = 5},
                                       {.name = "energy", .first = 5, .count = 14}}}}};
    Content bytes;
    put(bytes, __builtin_bswap32(0x8000'0000U | 12'345U << 5 | 17U));
    put(bytes, __builtin_bswap32(3U << 5 | 2U));
    auto const columns = model::flatten(table_of(row));
    EXPECT_EQ(columns[0].scalar, Scalar::uint8);
    EXPECT_EQ(columns[2].scalar, Scalar::uint16);
    Decoder decoder(row);
    auto const made = decoder.decode(rows_of(row, bytes));
    EXPECT_EQ(values<std::uint8_t>(made[0]), (std::vector<std::uint8_t>{1, 0}));
    EXPECT_EQ(values<std::uint8_t>(made[1]), (std::vector<std::uint8_t>{17, 2}));
    EXPECT_EQ(values<std::uint16_t>(made[2]), (std::vector<std::uint16_t>{12'345, 3}));
}

TEST(Decoder, PackedSamplesAreUnpackedAndTimestampsAreWidened) {
    Row const row{.fields = {{.name = "time", .role = RowField::Role::timestamp, .scalar = Scalar::uint16, .scale = 8},
                             {.name = "samples", .scalar = Scalar::int16, .packed_bits = 12, .shape = {2}}}};
    Content bytes;
    put(bytes, std::uint16_t{65'535}), put(bytes, text("\x01\xF0\xFF")); // 1, -1
    put(bytes, std::uint16_t{1}), put(bytes, text("\xFF\x07\x80"));      // 2047, -2048
    Decoder decoder(row);
    auto const columns = decoder.decode(rows_of(row, bytes));
    EXPECT_EQ(values<std::uint64_t>(columns[0]), (std::vector<std::uint64_t>{8 * 65'535, 8 * 65'537}));
    EXPECT_EQ(values<std::int16_t>(columns[1]), (std::vector<std::int16_t>{1, -1, 2047, -2048}));
}

TEST(Decoder, ListsHaveLengthsAndItemsAndAFewKindsOfThem) {
    for (unsigned const packed_bits : {0U, 10U}) {
        Row row{.fields = {{.name = "n", .role = RowField::Role::length, .scalar = Scalar::uint8},
                           {.name = "v", .scalar = Scalar::uint16, .packed_bits = packed_bits, .has_length = true}}};
        auto const bytes = packed_bits == 0 ? text(std::string_view("\2\1\0\2\0\0\1\3\0", 9))
                                            : text(std::string_view("\2\1\x08\0\0\1\3\0", 8));
        Framer framer(row);
        auto const found = framer.find(bytes, false, 10);
        ASSERT_EQ(found.rows, 3u);
        Decoder decoder(row);
        auto const columns = decoder.decode({.base = bytes.data(), .count = found.rows, .frames = found.frames.data()});
        EXPECT_EQ(values<std::uint64_t>(columns[0]), (std::vector<std::uint64_t>{2, 0, 1}));
        EXPECT_EQ(values<std::uint16_t>(columns[1]), (std::vector<std::uint16_t>{1, 2, 3}));
    }
}

TEST(Row, WhatCannotBeReadIsRefusedByTableAndField) {
    using Role = RowField::Role;
    auto const with = [](RowField field) { return Row{.fields = {{.name = "first"}, std::move(field)}}; };
    EXPECT_NE(refusal(with({.name = "x", .role = Role::sync})).find("table 'events', field 'x'"), std::string::npos);
    EXPECT_NE(refusal(with({.name = "x", .role = Role::length})).find("'x' is the length of no field"),
              std::string::npos);
    EXPECT_NE(refusal(with({.name = "x", .has_length = true})).find("no field has the length of 'x'"),
              std::string::npos);
    EXPECT_NE(refusal(with({.name = "x", .scalar = Scalar::uint16, .packed_bits = 11})).find("11 bits"),
              std::string::npos);
    EXPECT_NE(refusal(with({.name = "x", .scalar = Scalar::uint8, .packed_bits = 10})), "");
    EXPECT_NE(refusal(with({.name = "x", .role = Role::sequence, .scalar = Scalar::float32})), "");
    EXPECT_NE(refusal(with({.name = "x", .shape = {0}})), "");
    EXPECT_NE(refusal(with({.name = "x", .shape = {1 << 20, 1 << 20}})).find("max_row_bytes"), std::string::npos);
    EXPECT_NE(refusal(with({.name = "x", .bits = {{.name = "b", .first = 6, .count = 3}}})).find("bits 'b'"),
              std::string::npos);
    EXPECT_NE(refusal(with({.name = "first"})), ""); // a name that is taken
    EXPECT_NE(refusal({.fields = {{.name = "x", .role = Role::skip}}}).find("has no field"), std::string::npos);
    EXPECT_NE(refusal({.fields = {{.name = "x", .role = Role::sync, .sync_value = 256}, {.name = "y"}}}), "");
    EXPECT_EQ(refusal(with({.name = "x"})), "");
}

} // namespace
} // namespace thalweg::source::raw
