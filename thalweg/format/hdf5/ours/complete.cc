#include "thalweg/format/hdf5/ours/complete.h"

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/dataset_paths.h"
#include "thalweg/format/hdf5/ours/claiming_file.h"
#include "thalweg/format/hdf5/ours/header.h"
#include "thalweg/format/hdf5/ours/lh5_attributes.h"
#include "thalweg/format/hdf5/ours/linked_datasets.h"
#include "thalweg/format/hdf5/ours/page_table.h"
#include "thalweg/format/hdf5/ours/run_record.h"
#include "thalweg/format/hdf5/ours/table_datasets.h"
#include "thalweg/format/hdf5/ours/write_guard.h"
#include "thalweg/format/hdf5/plain_attributes.h"
#include "thalweg/format/hdf5/schema_attributes.h"

namespace thalweg::format::hdf5::ours {
namespace {

constexpr char const* kOpenAttribute = "thalweg_open";

void say_that_it_is_open(std::string const& note, FileHandle const& handle) {
    GroupHandle const root(H5Gopen2(handle.get(), "/", H5P_DEFAULT), "the root group cannot be opened");
    write_text(root.get(), kOpenAttribute, note);
}

// Appends the pages that are still missing, and makes all metadata: everything that libhdf5 does is in memory.
ClaimingFile make_metadata(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                           model::RunFacts const& facts) {
    Appender appender(file, facts.end_offset);
    auto const plan = plan_tables(file, journal, head, facts, appender);
    check_disjoint(plan, appender.end());
    auto own = plan_page_table(plan, appender);
    own.push_back(plan_run_record(plan, head, facts.metadata, appender));
    if (!facts.units.empty()) own.push_back(plan_units(facts.units, appender));
    appender.flush();

    LibraryLock const lock;
    bool const is_open = !facts.open_note.empty();
    ClaimingFile space(appender.end(), is_open ? kInterimSector : 0);
    THALWEG_ASSERT(appender.is_flushed() && space.begin() >= facts.end_offset, "metadata lies behind every page");
    auto handle = create_file(space, file.path(), is_open ? UserBlock{kInterimSector, kRankOfNoTrees} : UserBlock{});
    link_datasets(plan, handle, space);
    for (auto const& dataset : own) link_checked(dataset, handle, space);
    describe_tables(head.schema, handle);
    write_schema_attributes(head.schema, handle);
    write_run_attributes(head, facts.metadata, handle);
    if (is_open) say_that_it_is_open(facts.open_note, handle);
    handle.close(file.path() + " cannot be completed");
    if (is_open) refuse_writers(space.superblock(), space.metadata(), space.begin());
    return space;
}

void check_owner(storage::Storage const& file, model::RunHead const& head) {
    auto const id = run_id_of(file);
    if (id == head.id) return;
    base::fail_data({file.path() + " cannot be completed",
                     id ? "it belongs to run " + *id + ", not to " + head.id : "Thalweg did not begin it"});
}

Completed show_open_run(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                        model::RunFacts const& facts) {
    auto const made = make_metadata(file, journal, head, facts);
    file.write(made.begin(), made.metadata());
    file.sync();
    write_interim_sector(file, made.superblock(), made.begin(), made.metadata());
    file.sync();
    return {.file_bytes = made.allocated_end()};
}

// Whatever HDF5 cannot hold is refused before anything is recorded: the run is completed in memory, without a row.
void try_empty(std::string const& path, model::RunHead const& head) {
    auto const file = storage::make_memory_storage(path);
    auto const journal = storage::make_memory_storage(path);
    model::RunFacts facts{{}, head.metadata, base::kBlockBytes, {}};
    facts.tables.resize(head.schema.tables.size());
    try {
        for (std::size_t t = 0; t < head.columns.size(); ++t) {
            for (auto const& column : head.columns[t]) check_name(head.schema.tables[t], column);
        }
        make_metadata(*file, *journal, head, facts);
    } catch (base::DataError const& error) {
        base::fail_usage({path + " cannot hold this schema", error.what()});
    }
}

} // namespace

std::uint64_t begin(storage::Storage& file, model::RunHead const& head) {
    try_empty(file.path(), head);
    write_header(file, head.id);
    return base::kBlockBytes;
}

Completed complete(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                   model::RunFacts const& facts) {
    check_owner(file, head);
    if (!facts.open_note.empty()) return show_open_run(file, journal, head, facts);
    if (has_superblock(file)) { // what it names is about to be overwritten
        if (facts.is_cut_last)
            base::fail_data({file.path() + " is not completed again",
                             "it was completed meanwhile, by a recovery or by another node",
                             "`thalweg inspect` shows the rows that it has"});
        write_superblock(file, {});
        file.sync();
    }
    auto const made = make_metadata(file, journal, head, facts);
    file.write(made.begin(), made.metadata());
    write_seal(file, made.begin(), made.metadata());
    auto const end = made.allocated_end();
    if (!facts.is_cut_last) file.resize(end);
    file.sync();
    write_superblock(file, made.superblock());
    file.sync();
    return {.file_bytes = end};
}

} // namespace thalweg::format::hdf5::ours
