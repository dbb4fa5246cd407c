#include "thalweg/format/hdf5/late_column.h"

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/format.h"
#include "thalweg/format/hdf5/load.h"
#include "thalweg/format/hdf5/reader_process.h"
#include "thalweg/format/hdf5/stored_dataset.h"
#include "thalweg/format/stored_column.h"

namespace thalweg::format::hdf5 {

LateColumn load_dataset_here(storage::Storage const& file, std::string const& dataset) {
    LibraryLock const lock;
    ReadingFile space(file);
    auto const handle = open_file(space, file.path());
    auto const found = StoredDataset(space, handle, dataset).read();
    LateColumn late{{pages_of(found)}, found.items, found.page_items, found.codec};
    copy_layout(found, late.map);
    return late;
}

model::TableMap::ColumnMap Hdf5Format::load_pages(storage::Storage const& file, model::RunMap const& map,
                                                  std::size_t table, std::size_t column) const {
    auto const& known = map.tables.at(table).columns.at(column);
    if (known.later.empty()) return known;
    auto const& facts = map.head.columns[table][column];
    auto const& layout = map.head.layouts[table].columns[column];
    auto late = load_dataset_by_program(file, known.later);
    bool const same = late.page_items == layout.page_items && late.codec == layout.codec &&
                      late.map.tiling == known.tiling && late.map.big_endian == known.big_endian &&
                      late.map.fill == known.fill && late.map.held.empty() && late.map.later.empty() &&
                      (facts.parent || late.items == map.tables[table].rows);
    if (!same || !is_sound(facts, late.map)) {
        base::fail_data({"the dataset " + known.later + " is not as it was when the file was opened",
                         "another program has changed it", "open the file again"});
    }
    if (facts.role == model::Column::Role::lengths) {
        for (auto& page : late.map.pages) page.sums = true;
    }
    return std::move(late.map);
}

} // namespace thalweg::format::hdf5
