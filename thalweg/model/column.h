// Columns: the flat form of fields. A column holds items: one a row, or, inside a list, one an element of that list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/model/schema.h"

namespace thalweg::model {

struct Column {
    enum class Role : std::uint8_t { values, lengths };

    std::string path; // "waveform/values"; the elements of a list and the bytes of a string add "/*": "hits/*/energy"
    Role role = Role::values;
    Scalar scalar = Scalar::float64;   // lengths: uint64
    std::vector<std::uint64_t> shape;  // of one item: the fixed sizes met since the list (or table) it is in
    std::uint64_t values_per_item = 1; // product of `shape`
    // The lengths column whose lengths count this column's items; none: items are rows.
    std::optional<std::size_t> parent;
    std::vector<std::size_t> field_path; // indices into Table::fields, then into members, of the field it comes from

    std::size_t item_bytes() const { return values_per_item * size_bytes(scalar); }
};

// Depth first, in the order of the fields; a list's lengths come before what is inside it.
std::vector<Column> flatten(Table const& table);

// Returns the field that a column of flatten(table) comes from.
Field const& field_of(Table const& table, Column const& column);

} // namespace thalweg::model
