#include "thalweg/format/hdf5/ours/check_index.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/ours/header.h"
#include "thalweg/format/hdf5/ours/load_run.h"
#include "thalweg/format/hdf5/ours/page_table.h"
#include "thalweg/format/hdf5/stored_dataset.h"
#include "thalweg/format/hdf5/writer_state.h"

namespace thalweg::format::hdf5::ours {
namespace {

std::string describe(Chunk const& page) {
    return page.stored_bytes == 0 ? "no page" : fmt::format("{} bytes at offset {}", page.stored_bytes, page.offset);
}

void check_dataset(std::string const& file, Dataset const& dataset, StoredDataset& stored) {
    if (stored.facts().items != dataset.items || stored.page_count() != dataset.pages.size()) {
        base::fail_data({fmt::format("{}: {} has {} items in {} chunks", file, dataset.path, stored.facts().items,
                                     stored.page_count()),
                         fmt::format("the page table has {} in {}", dataset.items, dataset.pages.size())});
    }
    for (std::size_t i = 0; i < dataset.pages.size(); ++i) {
        auto const& expected = dataset.pages[i];
        auto const found = stored.page(i);
        if (found.offset == expected.offset && found.stored_bytes == expected.stored_bytes) continue;
        base::fail_data({fmt::format("{}: chunk {} of {} is {}", file, i, dataset.path, describe(found)),
                         "the page table says " + describe(expected)});
    }
}

} // namespace

std::uint64_t check_index(storage::Storage const& file) {
    auto const has_mark = run_id_of(file).has_value();
    if (!has_mark && !is_sealed(file) && !is_checkpoint(file)) {
        if (!superblock_offset(file)) base::fail_data({file.path() + " is no HDF5 file", "its signature is missing"});
        base::fail_usage({file.path() + " has no page table", "Thalweg did not write it"});
    }
    if (!has_superblock(file)) base::fail_data({file.path() + " is no HDF5 file", "its signature is missing"});
    check_seal(file);                  // before libhdf5 sees the file
    if (is_checkpoint(file)) return 0; // its record has the places and checksums of its pages
    if (!has_mark) {
        base::fail_data(
            {file.path() + " is not as it was when it was completed", "the mark at offset 2048 is damaged"});
    }
    LibraryLock const lock;
    ReadingFile space(file);
    auto const handle = open_file(space, file.path());
    auto record = read_run_record(space, handle);
    if (!record) base::fail_data({file.path() + " has no page table"});
    auto const datasets = datasets_of(*record, read_page_table(space, handle));
    std::uint64_t pages = 0;
    for (auto const& [path, dataset] : datasets) {
        StoredDataset stored(space, handle, path);
        check_dataset(file.path(), dataset, stored);
        pages += dataset.pages.size();
    }
    static_cast<void>(read_units(space, handle)); // compares them with their checksum
    return pages;
}

} // namespace thalweg::format::hdf5::ours
