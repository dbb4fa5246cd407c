#include "thalweg/dataset/append/gather_items.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thalweg/base/error.h"
#include "thalweg/model/column.h"

namespace thalweg::dataset {
namespace {

std::string described(model::Column const& column) {
    auto const what =
        column.role == model::Column::Role::lengths ? "a list" : std::string(model::name_of(column.scalar));
    return column.shape.empty() ? what : fmt::format("{}[{}]", what, fmt::join(column.shape, ", "));
}

} // namespace

std::vector<std::size_t> column_places(model::Table const& table_of_struct, Producer const& producer) {
    auto const& theirs = producer.columns();
    auto const ours = model::flatten(table_of_struct);
    auto const refuse = [&](std::string const& column, std::string const& why) {
        base::fail_usage({fmt::format("table '{}' does not take these structs", table_of_struct.name),
                          fmt::format("column '{}': {}", column, why), "give a StructType of the table's fields"});
    };
    std::vector<std::size_t> places;
    for (auto const& column : ours) {
        auto const found = std::ranges::find_if(
            theirs, [&](auto const& each) { return each.path == column.path && each.role == column.role; });
        if (found == theirs.end()) refuse(column.path, "the table has none");
        if (found->scalar != column.scalar || found->shape != column.shape)
            refuse(column.path,
                   fmt::format("it is {} in the struct, and {} in the table", described(column), described(*found)));
        auto const& given = model::field_of(table_of_struct, column);
        auto const& stored = model::field_of(producer.table(), *found);
        if (!model::units_agree(stored, given))
            refuse(column.path,
                   fmt::format("it is in {} in the struct, and in {} in the table", given.unit, stored.unit));
        places.push_back(static_cast<std::size_t>(found - theirs.begin()));
    }
    for (std::size_t i = 0; i < theirs.size(); ++i) {
        if (std::ranges::find(places, i) == places.end()) refuse(theirs[i].path, "the struct has none");
    }
    return places;
}

} // namespace thalweg::dataset
