#include "thalweg/model/column.h"

#include <utility>

#include "thalweg/base/assert.h"

namespace thalweg::model {
namespace {

// The place of a field in the nesting.
struct ColumnPlace {
    std::string path;
    std::vector<std::uint64_t> shape;
    std::optional<std::size_t> parent;
    std::vector<std::size_t> field_path;
};

class Flattener {
  public:
    void add(Field const& field, ColumnPlace place) {
        place.shape.insert(place.shape.end(), field.shape.begin(), field.shape.end());
        switch (field.kind) {
        case Kind::scalar:
            push(place, Column::Role::values, field.scalar);
            break;
        case Kind::string:
            push(inside_list(place), Column::Role::values, Scalar::uint8);
            break;
        case Kind::list:
            add(field.members[0], inside_list(place));
            break;
        case Kind::record:
            add_members(field.members, place);
            break;
        }
    }

    void add_members(std::vector<Field> const& fields, ColumnPlace const& place) {
        for (std::size_t i = 0; i < fields.size(); ++i) {
            ColumnPlace inner = place;
            inner.path += (place.path.empty() ? "" : "/") + fields[i].name;
            inner.field_path.push_back(i);
            add(fields[i], std::move(inner));
        }
    }

    std::vector<Column> take() { return std::move(columns_); }

  private:
    void push(ColumnPlace const& place, Column::Role role, Scalar scalar) {
        Column column{place.path, role, scalar, place.shape, 1, place.parent, place.field_path};
        for (auto const extent : place.shape) column.values_per_item *= extent;
        columns_.push_back(std::move(column));
    }

    ColumnPlace inside_list(ColumnPlace const& place) {
        push(place, Column::Role::lengths, Scalar::uint64);
        auto field_path = place.field_path;
        field_path.push_back(0);
        return {place.path + "/*", {}, columns_.size() - 1, std::move(field_path)};
    }

    std::vector<Column> columns_;
};

} // namespace

Field const& field_of(Table const& table, Column const& column) {
    auto const* fields = &table.fields;
    Field const* found = nullptr;
    for (auto const place : column.field_path) {
        if (fields->empty()) break; // the bytes of a string are of the string itself
        found = &fields->at(place);
        fields = &found->members;
    }
    THALWEG_ASSERT(found != nullptr, "a column comes from a field");
    return *found;
}

std::vector<Column> flatten(Table const& table) {
    Flattener flattener;
    flattener.add_members(table.fields, {});
    return flattener.take();
}

} // namespace thalweg::model
