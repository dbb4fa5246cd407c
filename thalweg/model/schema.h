// The schema of a run: tables of typed, nested fields. Pure values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/model/attributes.h"

namespace thalweg::model {

enum class Kind : std::uint8_t {
    scalar,
    string, // UTF-8, of any length
    list,   // `members` holds one field: the element
    record, // a struct: `members` are its fields
};

struct Field {
    std::string name = {};
    Kind kind = Kind::scalar;
    Scalar scalar = Scalar::float64;       // of kind scalar
    std::vector<std::uint64_t> shape = {}; // a fixed-size array of the above, of any rank; empty: just one
    std::vector<Field> members = {};
    std::string unit = {};
    std::string description = {};
    std::string type_name = {}; // in C++, if one was given: "std::vector<Hit>", "std::optional<float>"
    Attributes attributes = {};

    bool operator==(Field const&) const = default;
};

// Returns false if both have a unit, and not the same one.
bool units_agree(Field const& one, Field const& other);

struct Table {
    std::string name = {}; // slashes nest: "ch0/raw"
    std::vector<Field> fields = {};
    std::string description = {};
    Attributes attributes = {};

    bool operator==(Table const&) const = default;
};

// A group above tables, or beside them, that has something to say of itself.
struct TableGroup {
    std::string name = {}; // like that of a table
    Attributes attributes = {};

    bool operator==(TableGroup const&) const = default;
};

struct Schema {
    std::vector<Table> tables = {};
    Attributes attributes = {}; // of the run
    std::vector<TableGroup> groups = {};

    bool operator==(Schema const&) const = default;
    // Index of a table; throws base::UsageError that names the tables there are, and `file` if it is given.
    std::size_t table_index(std::string_view name, std::string_view file = "") const;
};

// The same without any attributes: what decides whether rows fit.
Schema without_attributes(Schema schema);

// Throws base::UsageError naming the table and field: empty or repeated names, names that no container can hold,
// records and lists without the right members, zero or overflowing shapes, attributes that cannot be kept.
// No table at all is no fault: of a file of another program it may be that none can be shown.
void validate(Schema const& schema);

std::string to_json(Schema const& schema);
// Throws base::DataError where the text is not a schema; the result is validated.
Schema schema_from_json(std::string_view json);

} // namespace thalweg::model
