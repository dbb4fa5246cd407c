// What a run holds: tables of typed, nested fields. Pure values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::model {

enum class Scalar : std::uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float32,
    float64,
    complex64,  // two float32: real, imaginary
    complex128, // two float64
};

std::size_t size_bytes(Scalar scalar);
std::string_view name_of(Scalar scalar);
// Throws base::UsageError that lists the scalars.
Scalar parse_scalar(std::string_view name);

enum class Kind : std::uint8_t {
    scalar,
    string, // UTF-8, of any length
    list,   // `members` holds one field: the element
    record, // a struct: `members` are its fields
};

struct Field {
    std::string name;
    Kind kind = Kind::scalar;
    Scalar scalar = Scalar::float64;  // of kind scalar
    std::vector<std::uint64_t> shape; // a fixed-size array of the above, of any rank; empty: just one
    std::vector<Field> members;
    std::string unit;
    std::string description;
    std::string type_name; // in C++, where somebody gave one: "std::vector<Hit>", "std::optional<float>"

    bool operator==(Field const&) const = default;
};

struct Table {
    std::string name; // slashes nest: "ch0/raw"
    std::vector<Field> fields;
    std::string description;

    bool operator==(Table const&) const = default;
};

struct Schema {
    std::vector<Table> tables;

    bool operator==(Schema const&) const = default;
    // Index of a table; throws base::UsageError that names the tables there are.
    std::size_t table_index(std::string_view name) const;
};

// Throws base::UsageError naming the table and field: empty or repeated names, names that no container can hold,
// records and lists without the right members, zero or overflowing shapes.
void validate(Schema const& schema);

std::string to_json(Schema const& schema);
// Throws base::DataError where the text is not a schema; the result is validated.
Schema schema_from_json(std::string_view json);

} // namespace thalweg::model
