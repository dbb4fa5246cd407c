#include "thalweg/format/hdf5/dataset_paths.h"

#include <fmt/format.h>
#include <string_view>

#include "thalweg/base/error.h"

namespace thalweg::format::hdf5 {
namespace {

constexpr std::string_view kParts = ".parts";

std::string path_of_part(std::string const& dataset_path, std::string const& part) {
    auto const slash = dataset_path.rfind('/');
    return fmt::format("{}/{}/{}/{}", dataset_path.substr(0, slash), kParts, dataset_path.substr(slash + 1), part);
}

} // namespace

std::string dataset_path(model::Table const& table, model::Column const& column) {
    std::string path = "/" + table.name + "/";
    for (char const c : column.path) {
        if (c == '*') {
            path += "flattened_data"; // no name holds a '*'
        } else {
            path += c;
        }
    }
    if (column.role == model::Column::Role::lengths) path += "/cumulative_length";
    return path;
}

std::string part_path(std::string const& dataset_path, std::size_t part) {
    return path_of_part(dataset_path, std::to_string(part));
}

std::string gathered_path(std::string const& dataset_path) { return path_of_part(dataset_path, "gathered"); }

void check_name(model::Table const& table, model::Column const& column) {
    auto const path = dataset_path(table, column) + "/";
    if (path.find(fmt::format("/{}/", kParts)) == path.npos) return;
    base::fail_data(
        {fmt::format("table '{}', column '{}': a field cannot be called {}", table.name, column.path, kParts),
         "that group holds the parts of lists"});
}

model::Scalar stored_scalar(model::Column const& column) {
    return column.role == model::Column::Role::lengths ? model::Scalar::int64 : column.scalar;
}

} // namespace thalweg::format::hdf5
