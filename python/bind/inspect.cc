// What `thalweg inspect` shows beyond the rows themselves.
#include <hdf5.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace dataset;

struct ColumnStorage {
    std::string path;
    std::string codec;
    std::uint64_t page_items = 0;
    std::uint64_t pages = 0;
    std::uint64_t raw_bytes = 0;
    std::uint64_t stored_bytes = 0;
};

std::vector<ColumnStorage> storage_of(Reader const& reader, std::size_t table) {
    std::vector<ColumnStorage> columns;
    auto const& layout = reader.head().layouts.at(table);
    for (std::size_t i = 0; i < layout.columns.size(); ++i) {
        auto const& stored = reader.column(table, i);
        auto const& facts = reader.head().columns[table][i];
        auto const unit_bytes = stored.by_value ? size_bytes(facts.scalar) : facts.item_bytes();
        ColumnStorage column{facts.path, layout.columns[i].codec, layout.columns[i].page_items, stored.pages.size()};
        auto next = std::uint64_t{0};
        for (auto const& page : stored.pages) {
            if (page.first >= next) column.raw_bytes += page.count * unit_bytes; // without padding; of tiles once
            next = page.first + page.count;
            column.stored_bytes += page.stored_bytes;
        }
        columns.push_back(std::move(column));
    }
    return columns;
}

std::string hdf5_version() {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(release);
}

} // namespace

void bind_inspect(nb::module_& module) {
    bind_struct<&ColumnStorage::path, &ColumnStorage::codec, &ColumnStorage::page_items, &ColumnStorage::pages,
                &ColumnStorage::raw_bytes, &ColumnStorage::stored_bytes>(module, "ColumnStorage");
    module.def("storage_of", storage_of, nb::arg("reader"), nb::arg("table"));
    module.def("hdf5_version", hdf5_version);
}

} // namespace thalweg::bind
