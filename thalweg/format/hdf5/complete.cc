#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/claiming_file.h"
#include "thalweg/format/hdf5/columns.h"
#include "thalweg/format/hdf5/format.h"
#include "thalweg/format/hdf5/lh5.h"
#include "thalweg/format/hdf5/link.h"
#include "thalweg/format/hdf5/page_table.h"
#include "thalweg/format/hdf5/run_record.h"

namespace thalweg::format::hdf5 {
namespace {

// Everything that libhdf5 does, in memory.
ClaimingFile make_metadata(FilePlan const& plan, std::vector<CheckedDataset> const& own, std::uint64_t begin,
                           std::string const& path, model::RunHead const& head,
                           std::map<std::string, std::string> const& metadata) {
    LibraryLock const lock;
    ClaimingFile file(begin);
    auto handle = create_file(file, path);
    link_datasets(plan, handle, file);
    for (auto const& dataset : own) link_checked(dataset, handle, file);
    describe_tables(head.schema, handle);
    write_run_attributes(head, metadata, handle);
    handle.close(path + " cannot be completed");
    return file;
}

void check_owner(storage::Storage const& file, model::RunHead const& head) {
    auto const id = run_id_of(file);
    if (id == head.id) return;
    base::fail_data({file.path() + " cannot be completed",
                     id ? "it belongs to run " + *id + ", not to " + head.id : "Thalweg did not begin it"});
}

} // namespace

std::uint64_t Hdf5Format::begin(storage::Storage& file, model::RunHead const& head) const {
    write_header(file, head.id);
    return base::kBlockBytes;
}

std::uint64_t Hdf5Format::complete(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                                   model::RunFacts const& facts) const {
    check_owner(file, head);
    if (has_superblock(file)) { // what it names is about to be overwritten
        write_superblock(file, {});
        file.sync();
    }
    Appender appender(file, facts.end_offset);
    auto const plan = plan_tables(file, journal, head, facts, appender);
    check_disjoint(plan, appender.end());
    auto own = plan_page_table(plan, appender);
    own.push_back(plan_run_record(plan, head, facts.metadata, appender));
    auto const made = make_metadata(plan, own, appender.end(), file.path(), head, facts.metadata);

    appender.flush();
    file.write(made.begin(), made.metadata());
    write_seal(file, made.begin(), made.metadata());
    auto const size_bytes = made.allocated_end();
    file.resize(size_bytes);
    file.sync();
    write_superblock(file, made.superblock());
    file.sync();
    return size_bytes;
}

Format const& hdf5_format() {
    static Hdf5Format const format;
    return format;
}

} // namespace thalweg::format::hdf5
