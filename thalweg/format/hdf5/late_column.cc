#include "thalweg/format/hdf5/late_column.h"

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/format.h"
#include "thalweg/format/hdf5/load.h"
#include "thalweg/format/hdf5/reader_process.h"
#include "thalweg/format/hdf5/stored_dataset.h"
#include "thalweg/format/stored_column.h"

namespace thalweg::format::hdf5 {

namespace {

LateColumn load_dataset(ReadingFile& file, FileHandle const& handle, WantedDataset const& wanted) {
    auto const found = StoredDataset(file, handle, wanted.path).read(wanted.first, wanted.count);
    LateColumn late{{pages_of(found)}, found.items, found.page_items, found.codec, {}};
    copy_layout(found, late.map);
    return late;
}

// Whether it is still the dataset that the map knows.
bool is_same(LateColumn const& late, model::RunMap const& map, WantedPages const& wanted) {
    auto const& known = map.tables.at(wanted.table).columns.at(wanted.column);
    auto const& facts = map.head.columns[wanted.table][wanted.column];
    auto const& layout = map.head.layouts[wanted.table].columns[wanted.column];
    return late.page_items == layout.page_items && late.codec == layout.codec && late.map.tiling == known.tiling &&
           late.map.big_endian == known.big_endian && late.map.fill == known.fill && late.map.held.empty() &&
           late.map.later.empty() && (facts.parent || late.items == map.tables[wanted.table].rows) &&
           is_sound(facts, late.map);
}

} // namespace

std::vector<LateColumn> load_datasets_here(storage::Storage const& file, std::vector<WantedDataset> const& wanted) {
    LibraryLock const lock;
    ReadingFile space(file);
    auto const handle = open_file(space, file.path());
    std::vector<LateColumn> found;
    for (auto const& each : wanted) {
        try {
            found.push_back(load_dataset(space, handle, each));
        } catch (base::DataError const& error) { // which costs the others nothing
            found.emplace_back().fault = error.what();
        }
    }
    return found;
}

std::vector<FoundPages> Hdf5Format::load_pages(storage::Storage const& file, model::RunMap const& map,
                                               std::vector<WantedPages> const& wanted) const {
    std::vector<FoundPages> found;
    std::vector<WantedDataset> asked;
    std::vector<std::size_t> places; // in `found`, of those that are asked for
    for (auto const& each : wanted) {
        auto const& known = map.tables.at(each.table).columns.at(each.column);
        found.push_back({known, {}});
        if (known.later.empty()) continue;
        asked.push_back({known.later, each.first, each.count});
        places.push_back(found.size() - 1);
    }
    auto late = asked.empty() ? std::vector<LateColumn>() : load_datasets_by_program(file, asked);
    for (std::size_t i = 0; i < late.size(); ++i) {
        auto const& each = wanted[places[i]];
        auto& place = found[places[i]];
        if (late[i].fault.empty() && !is_same(late[i], map, each)) {
            late[i].fault = base::Message{"the dataset " + asked[i].path + " is not as it was when the file was opened",
                                          "another program has changed it", "open the file again"}
                                .str();
        }
        if (map.head.columns[each.table][each.column].role == model::Column::Role::lengths) {
            for (auto& page : late[i].map.pages) page.sums = true;
        }
        place = {std::move(late[i].map), std::move(late[i].fault)};
    }
    return found;
}

} // namespace thalweg::format::hdf5
