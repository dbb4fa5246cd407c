#include "thalweg/derive/events.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/near_miss.h"

namespace thalweg::derive {
namespace {

using model::Column;

std::string name_of_column(dataset::Reader const& reader, std::size_t table, std::string const& path) {
    return fmt::format("{}: column '{}' of table '{}'", reader.path(), path, reader.head().schema.tables[table].name);
}

[[noreturn]] void fail_unknown(dataset::Reader const& reader, std::size_t table, std::string const& path) {
    std::vector<std::string_view> known;
    for (auto const& field : reader.head().schema.tables[table].fields) known.push_back(field.name);
    base::fail_usage({fmt::format("{} cannot be read", name_of_column(reader, table, path)), "there is none",
                      base::suggest(path, known)});
}

std::optional<std::size_t> find(std::vector<Column> const& columns, std::string const& path, Column::Role role) {
    auto const found =
        std::ranges::find_if(columns, [&](auto const& each) { return each.path == path && each.role == role; });
    if (found == columns.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns.begin());
}

} // namespace

std::size_t Events::column_of_lengths(std::string const& path) const {
    auto const& columns = reader_.head().columns[table_];
    if (auto const column = find(columns, path, Column::Role::lengths); column && !columns[*column].parent)
        return *column;
    if (!find(columns, path, Column::Role::values)) fail_unknown(reader_, table_, path);
    base::fail_usage({fmt::format("{} cannot be read", name_of_column(reader_, table_, path)),
                      "it has no list for each event", "ask for its `values`"});
}

std::size_t Events::column_of_values(std::string const& path, std::optional<std::size_t> lengths,
                                     model::Scalar wanted) const {
    auto const& columns = reader_.head().columns[table_];
    auto const name = name_of_column(reader_, table_, path);
    auto const column = find(columns, lengths ? path + "/*" : path, Column::Role::values);
    if (!column && lengths) {
        base::fail_usage({fmt::format("{} cannot be read", name), "its lists hold lists, or structs",
                          "read it through `reader()`, column by column"});
    }
    if (!column && !find(columns, path, Column::Role::lengths)) fail_unknown(reader_, table_, path);
    if (!column || columns[*column].parent != lengths)
        base::fail_usage(
            {fmt::format("{} cannot be read", name), "each event has a list there", "ask for its `lists`"});
    if (auto const scalar = columns[*column].scalar; scalar != wanted) {
        base::fail_usage({fmt::format("{} cannot be read as {}", name, model::name_of(wanted)),
                          fmt::format("it is {}", model::name_of(scalar))});
    }
    return *column;
}

OutputUnit& Events::unit(std::string const& output) {
    auto const found = units_.find(output);
    if (found != units_.end()) return found->second;
    std::vector<std::string_view> known;
    for (auto const& [path, unit] : units_) known.push_back(path);
    base::fail_usage({fmt::format("the job has no output '{}'", output), "", base::suggest(output, known)});
}

dataset::Producer& Events::operator[](std::string const& output) {
    auto const& tables = unit(output).schema->tables;
    if (tables.size() == 1) return rows(output, tables.front().name);
    base::fail_usage({fmt::format("{} takes no rows without the name of a table", output),
                      fmt::format("it has {} tables", tables.size()), "give it to `rows`"});
}

dataset::Producer& Events::rows(std::string const& output, std::string const& table) {
    return unit(output).unit[table];
}

} // namespace thalweg::derive
