// For the tests of this folder: bytes of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "thalweg/source/raw/row.h"

namespace thalweg::source::raw::testing {

using Content = std::vector<std::byte>;

template <typename Value> void put(Content& bytes, Value value) {
    auto const more = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), more.begin(), more.end());
}

inline void put(Content& bytes, Content const& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

inline Content text(std::string_view letters) {
    auto const bytes = std::as_bytes(std::span(letters.data(), letters.size()));
    return {bytes.begin(), bytes.end()};
}

constexpr std::uint32_t kSync = 0xA5B6'C7D8;

// {sync uint32, number uint32, value uint16}: 10 bytes.
inline Row synced_row() {
    using model::Scalar;
    return {.fields = {{.name = "sync", .role = RowField::Role::sync, .scalar = Scalar::uint32, .sync_value = kSync},
                       {.name = "number", .role = RowField::Role::sequence, .scalar = Scalar::uint32},
                       {.name = "value", .scalar = Scalar::uint16}}};
}

inline Content synced(std::uint32_t number) {
    Content bytes;
    put(bytes, kSync), put(bytes, number), put(bytes, static_cast<std::uint16_t>(3 * number));
    return bytes;
}

// {sync uint32, length uint16, values: list of uint16}: 6 bytes and more.
inline Row listed_row(Row::LengthOf length_of = Row::LengthOf::items) {
    using model::Scalar;
    return {.fields = {{.name = "sync", .role = RowField::Role::sync, .scalar = Scalar::uint32, .sync_value = kSync},
                       {.name = "length", .role = RowField::Role::length, .scalar = Scalar::uint16},
                       {.name = "values", .scalar = Scalar::uint16, .has_length = true}},
            .length_of = length_of,
            .max_row_bytes = 1000};
}

inline Content listed(std::uint16_t items) {
    Content bytes;
    put(bytes, kSync), put(bytes, items);
    for (std::uint16_t i = 0; i < items; ++i) put(bytes, static_cast<std::uint16_t>(100 * items + i));
    return bytes;
}

} // namespace thalweg::source::raw::testing
