#include "thalweg/model/schema.h"

#include <fmt/format.h>
#include <limits>
#include <set>

#include "thalweg/base/error.h"

namespace thalweg::model {

bool units_agree(Field const& one, Field const& other) {
    return one.unit.empty() || other.unit.empty() || one.unit == other.unit;
}

namespace {

constexpr std::size_t kMaxDepth = 32;

// Slashes separate what is nested, '*' stands for the elements of a list, and the rest is what lh5 writes its
// datatypes with.
constexpr std::string_view kForbiddenInFields = "/*{},";
constexpr std::string_view kForbiddenInTables = "*{},";

[[noreturn]] void refuse(std::string const& where, std::string why, std::string suggestion = "") {
    base::fail_usage({where + " cannot be stored", std::move(why), std::move(suggestion)});
}

void check_name(std::string const& where, std::string_view name, std::string_view forbidden) {
    if (name.empty()) refuse(where, "its name is empty");
    if (name == "." || name == "..") refuse(where, "HDF5 gives that name a meaning of its own", "choose another name");
    if (name.find('\0') != name.npos) refuse(where, "its name holds a NUL character");
    if (auto const at = name.find_first_of(forbidden); at != name.npos) {
        refuse(where, fmt::format("its name holds '{}'", name[at]),
               fmt::format("choose a name without any of '{}'", forbidden));
    }
}

// Units and descriptions are members of what they describe, and `datatype` follows from the type: an attribute of that
// name would be a second one.
void check_own_names(std::string const& where, Attributes const& attributes, std::string const& unit,
                     std::string const& description) {
    check_attributes(where, attributes);
    for (auto const& attribute : attributes) {
        auto const& name = attribute.name;
        bool const is_taken =
            name == "datatype" || (name == "units" && !unit.empty()) || (name == "description" && !description.empty());
        if (!is_taken) continue;
        refuse(fmt::format("the attribute '{}' of {}", name, where), "the schema says that already", "leave it out");
    }
}

void check_fields(std::string const& where, std::vector<Field> const& fields, std::size_t depth);

void check_field(std::string const& where, Field const& field, std::size_t depth) {
    if (depth > kMaxDepth) refuse(where, fmt::format("it is nested deeper than {} levels", kMaxDepth));
    check_own_names(where, field.attributes, field.unit, field.description);
    std::uint64_t values = field.kind == Kind::scalar ? size_bytes(field.scalar) : 8;
    for (auto const extent : field.shape) {
        if (extent == 0) refuse(where, "its shape has a zero", "use a list for sizes that vary");
        if (extent > std::numeric_limits<std::uint32_t>::max() / values) refuse(where, "one item is larger than 4 GiB");
        values *= extent;
    }
    switch (field.kind) {
    case Kind::scalar:
    case Kind::string:
        if (!field.members.empty()) refuse(where, "only lists and structs have members");
        break;
    case Kind::list:
        if (field.members.size() != 1) refuse(where, "a list has exactly one kind of element");
        check_field(where + " (element)", field.members[0], depth + 1);
        break;
    case Kind::record:
        check_fields(where, field.members, depth);
        break;
    }
}

void check_fields(std::string const& where, std::vector<Field> const& fields, std::size_t depth) {
    if (fields.empty()) refuse(where, "it has no fields");
    std::set<std::string_view> names;
    for (auto const& field : fields) {
        auto const inner = fmt::format("{}, field '{}'", where, field.name);
        check_name(inner, field.name, kForbiddenInFields);
        if (!names.insert(field.name).second) refuse(inner, "there are two of that name");
        check_field(inner, field, depth + 1);
    }
}

// A table "a" cannot hold a table "a/b": groups of tables are groups, not tables.
void check_nesting(std::set<std::string> const& names) {
    for (auto const& name : names) {
        for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
            if (names.contains(name.substr(0, slash))) {
                refuse(fmt::format("table '{}'", name), fmt::format("'{}' is a table, too", name.substr(0, slash)));
            }
        }
    }
}

void check_group_name(std::string const& where, std::string const& name) {
    check_name(where, name, kForbiddenInTables);
    if (name == "thalweg" || name.starts_with("thalweg/")) refuse(where, "that group holds the run's own records");
    std::size_t begin = 0;
    while (begin <= name.size()) {
        auto const end = std::min(name.find('/', begin), name.size());
        check_name(where, std::string_view(name).substr(begin, end - begin), kForbiddenInTables);
        begin = end + 1;
    }
}

// What lies in a table is a field of it.
void check_groups(std::vector<TableGroup> const& groups, std::set<std::string> const& tables) {
    std::set<std::string> names;
    for (auto const& [name, attributes] : groups) {
        auto const where = fmt::format("group '{}'", name);
        check_group_name(where, name);
        if (!names.insert(name).second) refuse(where, "there are two of that name");
        for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
            if (tables.contains(name.substr(0, slash))) refuse(where, "it lies in a table");
        }
        if (tables.contains(name)) refuse(where, "it is a table, too");
        check_own_names(where, attributes, "", "");
    }
}

} // namespace

std::size_t Schema::table_index(std::string_view name, std::string_view file) const {
    std::string known;
    for (std::size_t i = 0; i < tables.size(); ++i) {
        if (tables[i].name == name) return i;
        if (i < 8) known += (known.empty() ? "" : ", ") + tables[i].name;
    }
    if (tables.size() > 8) known += fmt::format(" and {} more", tables.size() - 8);
    auto const where = file.empty() ? "" : fmt::format("{}: ", file);
    base::fail_usage({fmt::format("{}there is no table '{}'", where, name), "", "the tables are " + known});
}

void validate(Schema const& schema) {
    std::set<std::string> names;
    for (auto const& table : schema.tables) {
        auto const where = fmt::format("table '{}'", table.name);
        check_group_name(where, table.name);
        if (!names.insert(table.name).second) refuse(where, "there are two of that name");
        check_own_names(where, table.attributes, "", table.description);
        check_fields(where, table.fields, 0);
    }
    check_nesting(names);
    check_groups(schema.groups, names);
    check_own_names("the run", schema.attributes, "", "");
}

namespace {

void drop_attributes(std::vector<Field>& fields) {
    for (auto& field : fields) {
        field.attributes.clear();
        drop_attributes(field.members);
    }
}

} // namespace

Schema without_attributes(Schema schema) {
    schema.attributes.clear();
    schema.groups.clear();
    for (auto& table : schema.tables) {
        table.attributes.clear();
        drop_attributes(table.fields);
    }
    return schema;
}

} // namespace thalweg::model
