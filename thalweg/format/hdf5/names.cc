#include "thalweg/format/hdf5/names.h"

#include <fmt/format.h>

namespace thalweg::format::hdf5 {

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
    auto const slash = dataset_path.rfind('/');
    return fmt::format("{}/.parts/{}/{}", dataset_path.substr(0, slash), dataset_path.substr(slash + 1), part);
}

model::Scalar stored_scalar(model::Column const& column) {
    return column.role == model::Column::Role::lengths ? model::Scalar::int64 : column.scalar;
}

} // namespace thalweg::format::hdf5
