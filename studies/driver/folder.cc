#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sys/mman.h>

#include "studies/driver/material.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kRowsAtOnce = 16; // few, as an event loop appends them

struct FlatColumn {
    std::span<std::byte const> bytes;
    std::size_t item_bytes = 0;
    std::ptrdiff_t parent = -1;
    bool is_lengths = false;
};

// A mapped file, so that it does not count as this process's memory. It stays until the program ends.
std::span<std::byte const> bytes_of(std::filesystem::path const& path) {
    auto const size = std::filesystem::file_size(path);
    if (size == 0) return {};
    auto const file = base::open_file(path, O_RDONLY);
    auto* const data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (data == MAP_FAILED) base::fail_system({"cannot map " + path.string()}, errno);
    return {static_cast<std::byte const*>(data), size};
}

model::Field field_of(nlohmann::json const& columns, std::size_t index, std::string const& name) {
    auto const& column = columns[index];
    if (column["kind"] == "values") {
        model::Field field;
        field.name = name;
        field.kind = model::Kind::scalar;
        field.scalar = model::parse_scalar(column["type"].get<std::string>());
        return field;
    }
    model::Field field;
    field.name = name;
    field.kind = model::Kind::list;
    for (std::size_t i = index + 1; i < columns.size(); ++i) {
        if (columns[i]["parent"].is_null() || columns[i]["parent"] != index) continue;
        field.members.push_back(field_of(columns, i, ""));
        return field;
    }
    base::fail_usage({"the folder's columns.json means nothing", "a list has no element"});
}

std::uint64_t sum_of(std::span<std::byte const> lengths) {
    std::span const values(reinterpret_cast<std::uint64_t const*>(lengths.data()), lengths.size() / 8);
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

} // namespace

// Reads flat columns and a columns.json that names them, in the order of model::flatten, as studies/pages makes them.
Material columns_in(std::string const& folder) {
    auto const json = nlohmann::json::parse(std::ifstream(std::filesystem::path(folder) / "columns.json"));
    auto const& columns = json["columns"];
    auto const flat = std::make_shared<std::vector<FlatColumn>>();
    model::Table table;
    table.name = "events";
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const& column = columns[i];
        bool const top = column["parent"].is_null();
        flat->push_back({bytes_of(std::filesystem::path(folder) / column["file"].get<std::string>()),
                         model::size_bytes(model::parse_scalar(column["type"].get<std::string>())),
                         top ? -1 : column["parent"].get<std::ptrdiff_t>(), column["kind"] == "lengths"});
        if (top) table.fields.push_back(field_of(columns, i, column["path"].get<std::string>()));
    }
    auto const rows = json["rows"].get<std::uint64_t>();
    auto const prepare = [flat, rows](std::size_t) -> Rows {
        return [flat, rows](dataset::Producer& producer) {
            std::vector<std::uint64_t> at(flat->size());
            std::vector<std::span<std::byte const>> parts(flat->size());
            std::uint64_t total = 0;
            for (std::uint64_t row = 0; row < rows; row += kRowsAtOnce) {
                auto const count = std::min(kRowsAtOnce, rows - row);
                for (std::size_t i = 0; i < flat->size(); ++i) {
                    auto const& column = (*flat)[i];
                    auto const items = column.parent < 0 ? count : sum_of(parts[column.parent]);
                    parts[i] = column.bytes.subspan(at[i], items * column.item_bytes);
                    at[i] += parts[i].size();
                    total += parts[i].size();
                }
                producer.append(count, parts);
            }
            return total;
        };
    };
    return {{{table}}, "", {"events"}, prepare};
}

} // namespace thalweg::study
