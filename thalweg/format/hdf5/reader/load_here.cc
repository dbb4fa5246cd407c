#include "thalweg/format/hdf5/reader/load_here.h"

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/dataset_pages.h"
#include "thalweg/format/hdf5/others/load.h"
#include "thalweg/format/hdf5/stored_dataset.h"
#include "thalweg/format/hdf5/writer_state.h"

namespace thalweg::format::hdf5::reader {
namespace {

LateColumn load_dataset(ReadingFile& file, FileHandle const& handle, WantedDataset const& wanted) {
    auto const found = StoredDataset(file, handle, wanted.path).read(wanted.first, wanted.count);
    LateColumn late{{pages_of(found)}, found.items, found.page_items, found.codec, {}};
    copy_layout(found, late.map);
    return late;
}

} // namespace

model::RunMap load_here(storage::Storage const& file, bool is_sealed, ours::Contents wanted) {
    LibraryLock const lock;
    ReadingFile space(file, is_sealed || writer_state(file) == OpenMark::closed);
    auto const handle = open_file(space, file.path());
    if (auto run = ours::load_run(space, handle, is_sealed, wanted)) return std::move(*run);
    return others::load(space, handle);
}

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

} // namespace thalweg::format::hdf5::reader
