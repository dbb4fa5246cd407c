#include "thalweg/format/hdf5/ours/load_run.h"

#include <algorithm>
#include <set>

#include "thalweg/base/error.h"
#include "thalweg/codec/hdf5_filters.h"
#include "thalweg/codec/hdf5_pipeline.h"
#include "thalweg/format/hdf5/dataset_pages.h"
#include "thalweg/format/hdf5/dataset_paths.h"
#include "thalweg/format/hdf5/ours/added_objects.h"
#include "thalweg/format/hdf5/ours/header.h"
#include "thalweg/format/hdf5/ours/page_table.h"
#include "thalweg/format/hdf5/schema_attributes.h"
#include "thalweg/format/hdf5/stored_dataset.h"

namespace thalweg::format::hdf5::ours {
namespace {

using model::Column;
using model::Page;
using Mappings = std::vector<Mapping>;

// Calls `use` with every dataset that holds items of a column, be it the column's own or those of its parts.
template <typename Use> void for_each_dataset(RunRecord& record, Use const& use) {
    for (std::size_t t = 0; t < record.head.schema.tables.size(); ++t) {
        for (std::size_t c = 0; c < record.head.columns[t].size(); ++c) {
            auto const& column = record.head.columns[t][c];
            auto const path = dataset_path(record.head.schema.tables[t], column);
            auto const mappings = record.mappings.find(path);
            auto& layout = record.head.layouts[t].columns[c];
            if (mappings == record.mappings.end()) {
                use(path, column, layout);
                continue;
            }
            for (auto const& mapping : mappings->second) use(mapping.source, column, layout);
        }
    }
}

// "deflate" and "deflate-1" are one codec by two names.
bool same_codec(std::string const& a, std::string const& b, std::size_t element_bytes) {
    return codec::filter_pipeline(codec::Spec::parse(a), element_bytes) ==
           codec::filter_pipeline(codec::Spec::parse(b), element_bytes);
}

// All pages are where HDF5's own index has them.
bool agrees(Dataset const& dataset, ReadingFile& file, FileHandle const& handle) {
    StoredDataset stored(file, handle, dataset.path);
    auto const& facts = stored.facts();
    if (!is_plain(facts) || codec::is_hdf5_pipeline(facts.codec)) return false;
    if (facts.items != dataset.items || facts.page_items != dataset.page_items || facts.scalar != dataset.scalar ||
        facts.shape != dataset.shape || !same_codec(facts.codec, dataset.codec, model::size_bytes(facts.scalar))) {
        return false;
    }
    for (std::size_t i = 0; i < dataset.pages.size(); ++i) {
        auto const found = stored.page(i);
        auto const& expected = dataset.pages[i];
        if (found.offset != expected.offset || found.stored_bytes != expected.stored_bytes) return false;
    }
    return true;
}

bool agree(Datasets const& datasets, ReadingFile& file, FileHandle const& handle) {
    return std::ranges::all_of(datasets, [&](auto const& each) { return agrees(each.second, file, handle); });
}

// All datasets by HDF5's own metadata, for files that another program has rewritten; the layouts of the head are set
// to what is found.
Datasets read_datasets(RunRecord& record, ReadingFile& file, FileHandle const& handle) {
    Datasets datasets;
    for_each_dataset(record, [&](std::string const& path, Column const& column, model::ColumnLayout& layout) {
        if (datasets.contains(path)) return;
        auto dataset = StoredDataset(file, handle, path).read();
        if (dataset.scalar != stored_scalar(column) || dataset.shape != column.shape) {
            base::fail_data({"the dataset " + path + " cannot be read", "its type is not that of the run's schema"});
        }
        if (dataset.tiling && column.role == Column::Role::lengths) {
            base::fail_data({"the dataset " + path + " cannot be read", "its chunks hold parts of items"});
        }
        layout = {dataset.page_items, dataset.codec};
        datasets.emplace(path, std::move(dataset));
    });
    return datasets;
}

// The pages of the parts that a virtual dataset shows, renumbered as it shows them.
std::vector<Page> pages_of_parts(Mappings const& mappings, Datasets const& datasets) {
    std::vector<Page> pages;
    std::map<std::string, std::vector<Page>> parts;
    for (auto const& mapping : mappings) {
        auto const found = datasets.find(mapping.source);
        if (found == datasets.end()) base::fail_data({"the dataset " + mapping.source + " is missing"});
        auto& part = parts[mapping.source];
        if (!is_plain(found->second)) {
            base::fail_data({"the dataset " + mapping.source + " cannot be read",
                             "another program has rewritten it, and it is shown by a virtual dataset",
                             "rewrite the file with h5repack -l CONTI"});
        }
        if (part.empty()) part = pages_of(found->second);
        for (auto page : model::slice(part, mapping.first, mapping.count)) {
            page.first = page.first - mapping.first + mapping.at;
            pages.push_back(page);
        }
    }
    return pages;
}

model::TableMap::ColumnMap map_of_parts(Column const& column, Mappings const& mappings, Datasets const& datasets) {
    model::TableMap::ColumnMap map{pages_of_parts(mappings, datasets)};
    if (column.role == Column::Role::lengths) {
        for (auto& page : map.pages) page.sums = true;
    }
    return map;
}

model::RunMap load_record(RunRecord record, bool is_sealed, Contents wanted, ReadingFile& file,
                          FileHandle const& handle) {
    auto datasets = datasets_of(record, read_page_table(file, handle));
    // Another program may have moved any page, and left the old one where it was.
    if (!is_sealed && !agree(datasets, file, handle)) datasets = read_datasets(record, file, handle);
    model::RunMap map{std::move(record.head), {}, std::move(record.metadata)};
    fill_tables(map, datasets, record.mappings);
    if (!is_sealed && wanted == Contents::everything) {
        std::set<std::string> known;
        for (auto const& [path, each] : datasets) known.insert(path);
        for (auto const& [path, each] : record.mappings) known.insert(path);
        map.left_out = added_objects(handle, known);
        // Any HDF5 program may add attributes to a file.
        auto const groups = groups_of_tables(map.head.schema);
        read_schema_attributes(map.head.schema, handle, groups, map.left_out);
    }
    try {
        map.units = read_units(file, handle);
    } catch (base::DataError const& error) {
        map.units_fault = error.what();
    }
    return map;
}

} // namespace

Datasets datasets_of(RunRecord& record, std::vector<Chunk> const& pages) {
    Datasets datasets;
    auto next = pages.begin();
    for (auto const& recorded : record.datasets) {
        if (recorded.pages > static_cast<std::uint64_t>(pages.end() - next)) {
            base::fail_data({"the page table cannot be read", recorded.path + " has more pages than are left in it"});
        }
        auto const end = next + static_cast<std::ptrdiff_t>(recorded.pages);
        Dataset dataset;
        dataset.path = recorded.path;
        dataset.items = recorded.items;
        dataset.pages.assign(next, end);
        next = end;
        datasets.emplace(recorded.path, std::move(dataset));
    }
    for_each_dataset(record, [&](std::string const& path, Column const& column, model::ColumnLayout const& layout) {
        auto const found = datasets.find(path);
        if (found == datasets.end()) base::fail_data({"the page table cannot be read", path + " is not in it"});
        auto& dataset = found->second;
        dataset.scalar = stored_scalar(column);
        dataset.shape = column.shape;
        dataset.item_bytes = column.item_bytes();
        dataset.page_items = layout.page_items;
        dataset.codec = layout.codec;
        for (auto& page : dataset.pages) page.encoded = page.stored_bytes < dataset.page_bytes();
    });
    return datasets;
}

void fill_tables(model::RunMap& map, Datasets const& datasets, std::map<std::string, Mappings> const& mappings) {
    map.tables.resize(map.head.schema.tables.size());
    for (std::size_t t = 0; t < map.tables.size(); ++t) {
        auto& table = map.tables[t];
        for (auto const& column : map.head.columns[t]) {
            auto const path = dataset_path(map.head.schema.tables[t], column);
            auto const found = datasets.find(path);
            table.columns.push_back(found != datasets.end() ? column_map(column, found->second)
                                                            : map_of_parts(column, mappings.at(path), datasets));
            if (column.parent) continue;
            if (found == datasets.end()) base::fail_data({path + " cannot be read", "its rows do not lie in parts"});
            table.rows = found->second.items;
        }
    }
}

std::optional<model::RunMap> load_run(ReadingFile& file, FileHandle const& handle, bool is_sealed, Contents wanted) {
    if (auto record = read_run_record(file, handle)) {
        return load_record(std::move(*record), is_sealed, wanted, file, handle);
    }
    if (!run_id_of(file.storage())) return std::nullopt;
    base::fail_data({file.storage().path() + " cannot be read",
                     "Thalweg wrote it, but /thalweg/run is not there: its metadata "
                     "is damaged, or another program has removed it",
                     "other HDF5 programs may still read it; Thalweg reads what h5repack makes of it"});
}

} // namespace thalweg::format::hdf5::ours
