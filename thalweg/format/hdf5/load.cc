#include "thalweg/format/hdf5/load.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/format.h"
#include "thalweg/format/hdf5/names.h"
#include "thalweg/format/hdf5/page_table.h"
#include "thalweg/format/hdf5/stored_dataset.h"

namespace thalweg::format::hdf5 {
namespace {

using model::Column;
using model::Page;

constexpr std::size_t kSampledDatasets = 32;

// Whether HDF5's index names the page that the page table names.
bool same_place(GridPage const& a, GridPage const& b) {
    return a.offset == b.offset && a.stored_bytes == b.stored_bytes && a.encoded == b.encoded;
}

// What the page table leaves to the schema.
void complete_facts(Datasets& datasets, model::RunHead const& head) {
    for (std::size_t t = 0; t < head.schema.tables.size(); ++t) {
        for (std::size_t c = 0; c < head.columns[t].size(); ++c) {
            auto const& column = head.columns[t][c];
            auto const path = dataset_path(head.schema.tables[t], column);
            auto const parts = part_path(path, 0);
            auto const complete = [&](Dataset& dataset) {
                dataset.scalar = stored_scalar(column);
                dataset.shape = column.shape;
                dataset.item_bytes = column.item_bytes();
                dataset.page_items = head.layouts[t].columns[c].page_items;
                dataset.codec = head.layouts[t].columns[c].codec;
                for (auto& page : dataset.pages) page.encoded = page.stored_bytes < dataset.page_bytes();
            };
            if (auto const found = datasets.find(path); found != datasets.end()) {
                complete(found->second);
                continue;
            }
            auto const prefix = parts.substr(0, parts.size() - 1);
            for (auto each = datasets.lower_bound(prefix); each != datasets.end(); ++each) {
                if (!each->first.starts_with(prefix)) break;
                complete(each->second);
            }
        }
    }
}

// A few pages of a few datasets, where HDF5 has them.
bool agrees(Datasets const& datasets, ReadingFile& file, FileHandle const& handle) {
    auto const step = std::max<std::size_t>(1, datasets.size() / kSampledDatasets);
    std::size_t number = 0;
    for (auto const& [path, dataset] : datasets) {
        if (number++ % step != 0) continue;
        if (H5Oexists_by_name(handle.get(), path.c_str(), H5P_DEFAULT) <= 0) return false;
        StoredDataset stored(file, handle, path);
        auto const& facts = stored.facts();
        if (facts.items != dataset.items || facts.page_items != dataset.page_items || facts.codec != dataset.codec ||
            facts.scalar != dataset.scalar || facts.shape != dataset.shape) {
            return false;
        }
        auto const pages = dataset.pages.size();
        if (pages != stored.page_count()) return false;
        for (auto const i : {std::size_t{0}, pages / 2, pages - 1}) {
            if (i < pages && !same_place(stored.page(i), dataset.pages[i])) return false;
        }
    }
    return true;
}

// The pages of the parts that a virtual dataset shows, renumbered as it shows them.
std::vector<Page> pages_of_parts(StoredDataset const& stored, Datasets const& datasets) {
    std::vector<Page> pages;
    std::string source;
    std::vector<Page> source_pages;
    for (auto const& mapping : stored.mappings()) {
        if (mapping.source != source) {
            auto const found = datasets.find(mapping.source);
            if (found == datasets.end()) base::fail_data({stored.facts().path + " lacks its part " + mapping.source});
            source = mapping.source;
            source_pages = pages_of(found->second);
        }
        for (auto page : model::slice(source_pages, mapping.first, mapping.count)) {
            page.first = page.first - mapping.first + mapping.at;
            pages.push_back(page);
        }
    }
    return pages;
}

// Adds a column's dataset, or, where it is virtual, its parts. Returns how they are cut.
model::ColumnLayout add_datasets(Datasets& datasets, StoredDataset stored, ReadingFile& file,
                                 FileHandle const& handle) {
    model::ColumnLayout layout{stored.facts().page_items, stored.facts().codec};
    if (!stored.is_virtual()) {
        datasets.emplace(stored.facts().path, stored.read());
        return layout;
    }
    for (auto const& mapping : stored.mappings()) {
        if (datasets.contains(mapping.source)) continue;
        auto const part = StoredDataset(file, handle, mapping.source).read();
        layout = {part.page_items, part.codec};
        datasets.emplace(mapping.source, part);
    }
    return layout;
}

void check_column(Dataset const& facts, Column const& column) {
    if (facts.scalar != stored_scalar(column) || facts.shape != column.shape) {
        base::fail_data({"the dataset " + facts.path + " cannot be read", "its type is not that of the run's schema"});
    }
}

} // namespace

std::vector<Page> pages_of(Dataset const& dataset) {
    std::vector<Page> pages;
    pages.reserve(dataset.pages.size());
    std::uint64_t first = 0;
    for (auto const& page : dataset.pages) {
        auto const count = std::min(dataset.page_items, dataset.items - first);
        auto const raw_bytes = page.encoded ? dataset.page_bytes() : page.stored_bytes;
        if (page.stored_bytes > 0) {
            pages.push_back({first, count, 0, page.offset, page.stored_bytes, raw_bytes, page.checksum, page.encoded});
        }
        first += count;
    }
    return pages;
}

void fill_tables(model::RunMap& map, Datasets const& datasets, ReadingFile& file, FileHandle const& handle) {
    map.tables.resize(map.head.schema.tables.size());
    for (std::size_t t = 0; t < map.tables.size(); ++t) {
        auto& table = map.tables[t];
        for (auto const& column : map.head.columns[t]) {
            auto const path = dataset_path(map.head.schema.tables[t], column);
            auto const found = datasets.find(path);
            auto pages = found != datasets.end() ? pages_of(found->second)
                                                 : pages_of_parts(StoredDataset(file, handle, path), datasets);
            table.columns.push_back({std::move(pages), column.role == Column::Role::lengths});
            if (!column.parent && found != datasets.end()) table.rows = found->second.items;
        }
    }
}

Datasets read_datasets(model::RunHead& head, ReadingFile& file, FileHandle const& handle) {
    Datasets datasets;
    for (std::size_t t = 0; t < head.schema.tables.size(); ++t) {
        for (std::size_t c = 0; c < head.columns[t].size(); ++c) {
            StoredDataset stored(file, handle, dataset_path(head.schema.tables[t], head.columns[t][c]));
            check_column(stored.facts(), head.columns[t][c]);
            head.layouts[t].columns[c] = add_datasets(datasets, std::move(stored), file, handle);
        }
    }
    return datasets;
}

model::RunMap Hdf5Format::load(storage::Storage const& file) const {
    LibraryLock const lock;
    ReadingFile space(file);
    auto const handle = open_file(space, file.path());
    model::RunMap map;
    auto head = read_run_head(handle);
    if (!head) {
        auto const datasets = read_foreign(map, space, handle);
        fill_tables(map, datasets, space, handle);
        return map;
    }
    map.head = std::move(*head);
    map.metadata = read_metadata(handle);
    auto datasets = read_page_table(handle);
    if (datasets) complete_facts(*datasets, map.head);
    if (!datasets || !agrees(*datasets, space, handle)) datasets = read_datasets(map.head, space, handle);
    fill_tables(map, *datasets, space, handle);
    return map;
}

} // namespace thalweg::format::hdf5
