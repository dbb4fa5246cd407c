#include "thalweg/dataset/run_reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "thalweg/base/error.h"
#include "thalweg/base/near_miss.h"
#include "thalweg/model/column.h"

namespace thalweg::dataset {
namespace {

using model::Column;
using model::Field;
using model::Kind;
using model::Scalar;

std::string type_text(Field const& field) {
    std::string shape;
    for (auto const size : field.shape) shape += fmt::format("[{}]", size);
    switch (field.kind) {
    case Kind::scalar:
        return std::string(model::name_of(field.scalar)) + shape;
    case Kind::string:
        return "string" + shape;
    case Kind::list:
        return fmt::format("list of {}{}", field.members.empty() ? "nothing" : type_text(field.members.front()), shape);
    case Kind::record:
        return "struct" + shape;
    }
    return "";
}

Field const* find(std::vector<Field> const& fields, std::string_view name) {
    auto const found = std::ranges::find(fields, name, &Field::name);
    return found == fields.end() ? nullptr : &*found;
}

// What the messages of one table name.
struct Place {
    std::string const& file;
    std::string const& table;

    std::string column(std::string const& path) const {
        return fmt::format("{}: column '{}' of table '{}' cannot be read", file, path, table);
    }
};

[[noreturn]] void fail_unknown(Place const& place, std::string const& path, std::string_view name,
                               std::vector<Field> const& fields) {
    std::vector<std::string_view> known;
    known.reserve(fields.size());
    for (auto const& field : fields) known.push_back(field.name);
    auto advice = base::suggest(name, known);
    auto const dot = name.find('.'); // as uproot shows the field of a struct
    if (dot != name.npos && std::ranges::count(known, name.substr(0, dot)) > 0)
        advice = fmt::format("did you mean '{}/{}'?", name.substr(0, dot), name.substr(dot + 1));
    base::fail_usage({place.column(path), "there is none", advice});
}

void check_type(Place const& place, std::string const& path, Field const& stored, Field const& wanted);

void check_members(Place const& place, std::string const& path, std::vector<Field> const& stored,
                   std::vector<Field> const& wanted) {
    for (auto const& member : wanted) {
        auto const inner = path.empty() ? member.name : path + "/" + member.name;
        auto const* const found = find(stored, member.name);
        if (found == nullptr) fail_unknown(place, inner, member.name, stored);
        check_type(place, inner, *found, member);
    }
}

// A std::vector has no bools in memory, so bools are read as bytes, too: 0 and 1.
bool can_be_read_as(Scalar stored, Scalar wanted) {
    return stored == wanted || (stored == Scalar::boolean && wanted == Scalar::uint8);
}

void check_type(Place const& place, std::string const& path, Field const& stored, Field const& wanted) {
    bool const is_same = stored.kind == wanted.kind && stored.shape == wanted.shape &&
                         (stored.kind != Kind::scalar || can_be_read_as(stored.scalar, wanted.scalar));
    if (!is_same) {
        std::string advice;
        if (stored.kind == Kind::record && wanted.kind != Kind::record && !stored.members.empty())
            advice = fmt::format("name a field of it, such as {}/{}, or read it into structs", path,
                                 stored.members.front().name);
        base::fail_usage({fmt::format("{} as {}", place.column(path), type_text(wanted)),
                          fmt::format("it is {}", type_text(stored)), advice});
    }
    if (!model::units_agree(stored, wanted))
        base::fail_usage({fmt::format("{} in {}", place.column(path), wanted.unit),
                          fmt::format("its values are in {}", stored.unit),
                          "give the member that unit, or none, and convert the values"});
    if (stored.kind == Kind::record) check_members(place, path, stored.members, wanted.members);
    if (stored.kind == Kind::list) check_type(place, path + "/*", stored.members.at(0), wanted.members.at(0));
}

std::size_t column_at(Reader const& reader, std::size_t table, std::string const& path, Column::Role role) {
    auto const& columns = reader.head().columns[table];
    auto const found =
        std::ranges::find_if(columns, [&](auto const& each) { return each.path == path && each.role == role; });
    if (found == columns.end()) { // the schema has it, and so a file of Thalweg's stores it
        base::fail_data({Place{reader.path(), reader.head().schema.tables[table].name}.column(path),
                         "the file does not store it as a column"});
    }
    return static_cast<std::size_t>(found - columns.begin());
}

} // namespace

namespace detail {

std::vector<std::byte> ItemScatterer::values(std::string const& path, ItemRange items, std::size_t item_bytes) const {
    auto const column = column_at(reader_, table_, path, Column::Role::values);
    std::vector<std::byte> bytes(items.count * item_bytes);
    reader_.read(table_, column, items, bytes, options_);
    return bytes;
}

ItemScatterer::ListsOfItems ItemScatterer::lists_of(std::string const& path, ItemRange items) const {
    auto const column = column_at(reader_, table_, path, Column::Role::lengths);
    std::vector<std::uint64_t> lengths(items.count);
    reader_.read(table_, column, items, std::as_writable_bytes(std::span(lengths)), options_);
    return {std::move(lengths), reader_.elements(table_, column, items)};
}

} // namespace detail

void TableReader::check_fields(std::vector<Field> const& wanted) const {
    check_members({reader_->path(), name()}, "", schema().fields, wanted);
}

void TableReader::check_column(std::string const& path, Field const& wanted) const {
    Place const place{reader_->path(), name()};
    auto const* fields = &schema().fields;
    for (std::size_t begin = 0;;) {
        auto const end = std::min(path.find('/', begin), path.size());
        auto const part = std::string_view(path).substr(begin, end - begin);
        auto const* const found = find(*fields, part);
        if (found == nullptr) fail_unknown(place, path, part, *fields);
        if (end == path.size()) return check_type(place, path, *found, wanted);
        if (found->kind == Kind::list || !found->shape.empty())
            base::fail_usage({place.column(path), fmt::format("'{}' is {}", part, type_text(*found)),
                              "read it as a whole, into structs"});
        fields = &found->members;
        begin = end + 1;
    }
}

ItemRange TableReader::checked_rows(RowRange rows) const {
    auto const there = this->rows();
    if (rows.count == RowRange{}.count && rows.first <= there) return {rows.first, there - rows.first};
    if (rows.first > there || rows.count > there - rows.first) {
        base::fail_usage({fmt::format("{}: rows {} to {} of table '{}' cannot be read", reader_->path(), rows.first,
                                      rows.first + rows.count, name()),
                          fmt::format("it has {} rows", there)});
    }
    return {rows.first, rows.count};
}

std::vector<std::string> RunReader::tables() const {
    std::vector<std::string> names;
    for (auto const& table : reader_->head().schema.tables) names.push_back(table.name);
    return names;
}

} // namespace thalweg::dataset
