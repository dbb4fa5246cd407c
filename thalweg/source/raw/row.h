// Describes how rows lie in the bytes of an input: fields one behind the other, without gaps.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/model/schema.h"

namespace thalweg::source::raw {

// Some bits of an integer, which become a column of their own: the smallest unsigned type that holds them.
struct BitField {
    std::string name;
    unsigned first = 0; // 0: the lowest bit
    unsigned count = 1;
    std::string unit;
    std::string description;
};

struct RowField {
    enum class Role : std::uint8_t {
        value,
        skip,      // is not stored
        sync,      // has the same value in all rows, by which they are found; is not stored
        sequence,  // counts rows, and begins again at 0 behind the largest value of its type
        timestamp, // stored as uint64, in which it goes on where its own type begins again at 0
        length,    // says how long the last field is; is not stored
    };

    std::string name;
    Role role = Role::value;
    model::Scalar scalar = model::Scalar::uint8; // of packed samples: uint16 or int16
    unsigned packed_bits = 0;                    // 10, 12 or 14; 0: samples are not packed
    bool high_first = false;                     // of packed samples, as samples::Packing says
    bool big_endian = false;
    std::vector<std::uint64_t> shape;
    bool has_length = false;      // the last field: a list of as many items as the field `length` says
    std::uint64_t sync_value = 0; // of the role `sync`
    std::uint64_t scale = 1;      // of the role `timestamp`: what one tick is in the unit
    std::vector<BitField> bits;   // if there are any, they are stored and the whole number is not
    std::string unit;
    std::string description;
};

struct Row {
    // What the number in the field `length` counts.
    enum class LengthOf : std::uint8_t { items, bytes, whole_row };

    std::string table = "events";
    std::string description;
    std::vector<RowField> fields;
    LengthOf length_of = LengthOf::items;
    std::uint64_t max_row_bytes = 16 << 20; // a row that says it is longer lies
};

// The places of the fields in a row. It is made once, and all that read rows look here.
struct RowShape {
    std::vector<std::size_t> offsets;                        // of the fields
    std::size_t fixed_bytes = 0;                             // of all fields but a list
    std::optional<std::size_t> sync, sequence, length, list; // indices of fields
    bool has_fixed_size() const { return !list; }
};

// Throws base::UsageError, with the names of table and field, if rows cannot lie in this way.
RowShape shape_of(Row const& row);
// Returns the table that rows become.
model::Table table_of(Row const& row);

// Returns the bytes that so many items of a field take in a row.
std::size_t bytes_of_items(RowField const& field, std::size_t items);
std::size_t values_of(RowField const& field);
// Returns the smallest unsigned type of so many bits.
model::Scalar unsigned_of(unsigned bits);
// Reads an integer of 1, 2, 4 or 8 bytes.
inline std::uint64_t load_unsigned(std::byte const* from, std::size_t bytes, bool big_endian) {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t value = 0;
    std::memcpy(&value, from, bytes);
    return big_endian ? __builtin_bswap64(value) >> (64 - 8 * bytes) : value;
}
// Returns the bytes of the sync word as they lie in a row.
std::vector<std::byte> sync_bytes(RowField const& field);

} // namespace thalweg::source::raw
