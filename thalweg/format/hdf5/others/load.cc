#include "thalweg/format/hdf5/others/load.h"

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/dataset_pages.h"
#include "thalweg/format/hdf5/others/table_finder.h"
#include "thalweg/format/hdf5/schema_attributes.h"

namespace thalweg::format::hdf5::others {
namespace {

// Returns why the model refuses the table; empty if it takes it.
std::string fault_of(model::Table const& table) {
    try {
        model::validate({{table}});
        return "";
    } catch (base::Error const& error) {
        return error.what();
    }
}

// Returns the name of the table of what lies in no group: that of the file.
std::string root_name(std::string const& path) {
    auto const name = path.substr(path.rfind('/') + 1);
    auto const stem = name.substr(0, name.find('.'));
    bool const is_name = fault_of({stem, {{.name = "x"}}, ""}).empty();
    return is_name ? stem : "root";
}

void add(model::RunMap& map, model::Table table, std::vector<Dataset> const& found) {
    auto& columns = map.head.columns.emplace_back(model::flatten(table));
    auto& layout = map.head.layouts.emplace_back();
    auto& pages = map.tables.emplace_back();
    for (std::size_t i = 0; i < found.size(); ++i) {
        auto& column = columns[i];
        if (column.role == model::Column::Role::lengths) column.scalar = *sum_type(found[i].scalar);
        layout.columns.push_back({found[i].page_items, found[i].codec});
        pages.columns.push_back(column_map(column, found[i]));
        if (!column.parent) pages.rows = found[i].items;
    }
    map.head.schema.tables.push_back(std::move(table));
}

} // namespace

model::RunMap load(ReadingFile& file, FileHandle const& handle) {
    std::array<char, 4096> path{};
    H5Fget_name(handle.get(), path.data(), path.size());
    TableFinder finder(file, handle, root_name(path.data()));
    model::RunMap map;
    std::vector<std::string> groups; // of the tables
    for (auto& found : finder.find()) {
        std::vector<Dataset> columns;
        auto const where = found.fields.front().path;
        model::Table table{found.name, fields_of(std::move(found.fields), columns), found.description};
        if (auto const fault = fault_of(table); !fault.empty()) {
            finder.left_out().push_back({where.substr(0, where.rfind('/')), fault});
        } else {
            add(map, std::move(table), columns);
            groups.push_back(where.substr(0, where.rfind('/')));
        }
    }
    if (map.head.schema.tables.empty() && finder.left_out().empty()) {
        base::fail_data({std::string(path.data()) + " holds no table"});
    }
    map.left_out = std::move(finder.left_out());
    map.notes = std::move(finder.notes());
    read_schema_attributes(map.head.schema, handle, groups, map.left_out);
    model::validate(map.head.schema);
    return map;
}

} // namespace thalweg::format::hdf5::others
