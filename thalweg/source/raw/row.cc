#include "thalweg/source/raw/row.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/source/samples/unpack.h"

namespace thalweg::source::raw {
namespace {

using Role = RowField::Role;
using model::Scalar;

[[noreturn]] void refuse(Row const& row, RowField const& field, std::string const& why, std::string const& suggestion) {
    base::fail_usage(
        {fmt::format("table '{}', field '{}' cannot be read from rows", row.table, field.name), why, suggestion});
}

bool is_unsigned(Scalar scalar) {
    return scalar == Scalar::uint8 || scalar == Scalar::uint16 || scalar == Scalar::uint32 || scalar == Scalar::uint64;
}

std::string_view role_name(Role role) {
    switch (role) {
    case Role::value:
        return "value";
    case Role::skip:
        return "skip";
    case Role::sync:
        return "sync";
    case Role::sequence:
        return "sequence";
    case Role::timestamp:
        return "timestamp";
    case Role::length:
        return "length";
    }
    return "";
}

void check_bits(Row const& row, RowField const& field) {
    if (field.bits.empty()) return;
    if (field.role != Role::value) refuse(row, field, "its role is not `value`", "leave `bits` out");
    if (!is_unsigned(field.scalar) || !field.shape.empty() || field.packed_bits != 0 || field.has_length)
        refuse(row, field, "bit fields lie in one unsigned integer", "give one of uint8, uint16, uint32, uint64");
    auto const width = 8 * model::size_bytes(field.scalar);
    for (auto const& bits : field.bits)
        if (bits.count == 0 || bits.first >= width || bits.count > width - bits.first)
            refuse(row, field,
                   fmt::format("bits '{}' are {} from bit {}, but the integer has {}", bits.name, bits.count,
                               bits.first, width),
                   "");
}

void check_sizes(Row const& row, RowField const& field) {
    std::uint64_t values = 1;
    for (auto const size : field.shape) {
        if (size == 0) refuse(row, field, "a size is 0", "leave the field out");
        if (size > row.max_row_bytes / values)
            refuse(row, field, "it is longer than max_row_bytes", "give a larger one");
        values *= size;
    }
    bool const fits = field.scalar == Scalar::uint16 || field.scalar == Scalar::int16;
    if (field.packed_bits != 0 && !fits) refuse(row, field, "packed samples become uint16 or int16", "");
    if (field.packed_bits != 0) samples::unpack_of({.bits = field.packed_bits}); // says which numbers of bits there are
}

void check(Row const& row, RowField const& field, bool is_first, bool is_last) {
    bool const is_number = is_unsigned(field.scalar) && field.shape.empty() && field.packed_bits == 0;
    if (field.role != Role::value && field.role != Role::skip && !is_number)
        refuse(row, field, fmt::format("its role is `{}`", role_name(field.role)),
               "give it one of the types uint8, uint16, uint32, uint64, and no shape");
    if (field.role == Role::sync && !is_first) refuse(row, field, "a row begins with its sync word", "");
    auto const width = 8 * model::size_bytes(field.scalar);
    if (field.role == Role::sync && width < 64 && field.sync_value >> width != 0)
        refuse(row, field, fmt::format("{:#x} has more than {} bits", field.sync_value, width), "");
    if (field.has_length && (!is_last || field.role != Role::value || !field.shape.empty()))
        refuse(row, field, "only the last field, without a shape, can have the length that another one says", "");
    if (field.role == Role::timestamp && field.scale == 0) refuse(row, field, "its scale is 0", "");
    check_sizes(row, field);
    check_bits(row, field);
}

model::Field scalar_field(RowField const& field) {
    return {.name = field.name,
            .scalar = field.role == Role::timestamp ? Scalar::uint64 : field.scalar,
            .shape = field.shape,
            .unit = field.unit,
            .description = field.description};
}

} // namespace

std::size_t values_of(RowField const& field) {
    std::size_t values = 1;
    for (auto const size : field.shape) values *= size;
    return values;
}

std::size_t bytes_of_items(RowField const& field, std::size_t items) {
    auto const values = items * values_of(field);
    return field.packed_bits != 0 ? samples::packed_bytes(field.packed_bits, values)
                                  : values * model::size_bytes(field.scalar);
}

Scalar unsigned_of(unsigned bits) {
    return bits <= 8 ? Scalar::uint8 : bits <= 16 ? Scalar::uint16 : bits <= 32 ? Scalar::uint32 : Scalar::uint64;
}

std::vector<std::byte> sync_bytes(RowField const& field) {
    std::vector<std::byte> bytes(model::size_bytes(field.scalar));
    std::memcpy(bytes.data(), &field.sync_value, bytes.size());
    if (field.big_endian) std::reverse(bytes.begin(), bytes.end());
    return bytes;
}

RowShape shape_of(Row const& row) {
    RowShape shape;
    auto const note = [&](std::optional<std::size_t>& place, std::size_t index) {
        if (place) refuse(row, row.fields[index], fmt::format("'{}' has this role", row.fields[*place].name), "");
        place = index;
    };
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
        auto const& field = row.fields[i];
        check(row, field, i == 0, i + 1 == row.fields.size());
        shape.offsets.push_back(shape.fixed_bytes);
        if (field.role == Role::sync) note(shape.sync, i);
        if (field.role == Role::sequence) note(shape.sequence, i);
        if (field.role == Role::length) note(shape.length, i);
        if (field.has_length)
            shape.list = i;
        else
            shape.fixed_bytes += bytes_of_items(field, 1);
        if (shape.fixed_bytes > row.max_row_bytes) refuse(row, field, "the row is longer than max_row_bytes", "");
    }
    if (shape.list.has_value() != shape.length.has_value())
        base::fail_usage({fmt::format("table '{}' cannot be read from rows", row.table),
                          shape.list
                              ? fmt::format("no field has the length of '{}'", row.fields[*shape.list].name)
                              : fmt::format("field '{}' is the length of no field", row.fields[*shape.length].name),
                          "one field has the role `length`, and the last one has the shape `length`"});
    if (table_of(row).fields.empty())
        base::fail_usage({fmt::format("table '{}' has no field", row.table), "nothing of a row is stored", ""});
    model::validate({{table_of(row)}});
    return shape;
}

model::Table table_of(Row const& row) {
    model::Table table{.name = row.table, .description = row.description};
    for (auto const& field : row.fields) {
        if (field.role == Role::skip || field.role == Role::sync || field.role == Role::length) continue;
        for (auto const& bits : field.bits)
            table.fields.push_back({.name = bits.name,
                                    .scalar = unsigned_of(bits.count),
                                    .unit = bits.unit,
                                    .description = bits.description});
        if (!field.bits.empty()) continue;
        if (field.has_length)
            table.fields.push_back({.name = field.name,
                                    .kind = model::Kind::list,
                                    .members = {{.name = "item", .scalar = field.scalar}},
                                    .unit = field.unit,
                                    .description = field.description});
        else
            table.fields.push_back(scalar_field(field));
    }
    return table;
}

} // namespace thalweg::source::raw
