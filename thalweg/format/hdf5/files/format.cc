#include "thalweg/format/hdf5/files/format.h"

#include "thalweg/base/error.h"
#include "thalweg/codec/codec.h"
#include "thalweg/format/hdf5/kept_reads.h"
#include "thalweg/format/hdf5/ours/check_index.h"
#include "thalweg/format/hdf5/ours/complete.h"
#include "thalweg/format/hdf5/ours/header.h"
#include "thalweg/format/hdf5/ours/metadata_bound.h"
#include "thalweg/format/hdf5/reader/load_here.h"
#include "thalweg/format/hdf5/reader/process.h"
#include "thalweg/format/hdf5/writer_state.h"
#include "thalweg/format/stored_column.h"

namespace thalweg::format::hdf5::files {
namespace {

constexpr int kAttempts = 10;

// Its writer keeps what lies in the file readable; but two reads of it may be of different moments, and then a checksum
// does not fit.
model::RunMap load_while_written(storage::Storage const& file) {
    for (int attempt = 1;; ++attempt) {
        try {
            auto map = reader::load_by_program(file);
            map.closed = false;
            map.notes.insert(map.notes.begin(), note_of(OpenMark::swmr));
            return map;
        } catch (base::DataError const& error) {
            if (attempt < kAttempts) continue;
            base::fail_data({error.what(), note_of(OpenMark::swmr)});
        }
    }
}

// The file of a run that was not closed, without its journal: what it shows other programs.
model::RunMap load_open_run(storage::Storage const& file) {
    if (!ours::has_interim_superblock(file)) {
        base::fail_data(
            {file.path() + " does not open as an HDF5 file", "file signature not found: it is not complete"});
    }
    try {
        ours::check_interim_seal(file);
    } catch (base::DataError const& error) {
        base::fail_data({file.path() + " is not complete, and what it shows other programs is damaged", error.what(),
                         "run `thalweg recover` where its journal is beside it"});
    }
    auto map = reader::load_here(file, true);
    map.closed = false;
    return map;
}

// Whether it is still the dataset that the map knows.
bool is_same(reader::LateColumn const& late, model::RunMap const& map, WantedPages const& wanted) {
    auto const& known = map.tables.at(wanted.table).columns.at(wanted.column);
    auto const& facts = map.head.columns[wanted.table][wanted.column];
    auto const& layout = map.head.layouts[wanted.table].columns[wanted.column];
    return late.page_items == layout.page_items && late.codec == layout.codec && late.map.tiling == known.tiling &&
           late.map.big_endian == known.big_endian && late.map.fill == known.fill && late.map.held.empty() &&
           late.map.later.empty() && (facts.parent || late.items == map.tables[wanted.table].rows) &&
           is_sound(facts, late.map);
}

} // namespace

model::LayoutOptions Hdf5Format::with_own_values(model::LayoutOptions options) const {
    options.narrow_page_bytes = options.narrow_page_bytes.value_or(model::kNarrowPageBytes);
    if (options.wide_codec.empty()) options.wide_codec = model::kCodec;
    if (options.narrow_codec.empty()) options.narrow_codec = model::kCodec;
    return options;
}

model::RunHead Hdf5Format::make_head(model::Schema schema, model::LayoutOptions const& options,
                                     std::map<std::string, std::string> metadata) const {
    auto const own = with_own_values(options);
    // Also where no column has it: it is written down as what is in effect.
    for (auto const& codec : {own.wide_codec, own.narrow_codec}) static_cast<void>(codec::Spec::parse(codec));
    return model::make_run_head(std::move(schema), options, std::move(metadata));
}

std::uint64_t Hdf5Format::begin(storage::Storage& file, model::RunHead const& head) const {
    return ours::begin(file, head);
}

std::optional<std::uint64_t> Hdf5Format::interim_sector() const { return ours::kInterimSector; }

Completed Hdf5Format::complete(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                               model::RunFacts const& facts) const {
    return ours::complete(file, journal, head, facts);
}

std::uint64_t Hdf5Format::end_of_readable(storage::Storage const& file, model::RunHead const&) const {
    return ours::has_superblock(file) ? ours::end_of_file(file) : ours::end_of_interim(file);
}

bool Hdf5Format::is_known_open(storage::Storage const& file) const {
    return !ours::has_superblock(file) && ours::run_id_of(file).has_value();
}

model::RunMap Hdf5Format::load(storage::Storage const& file) const {
    KeptReads const kept(file);
    if (!ours::has_superblock(kept) && ours::run_id_of(kept)) return load_open_run(kept);
    auto const writer = writer_state(kept);
    check_not_written(file, writer);
    if (writer == OpenMark::swmr) return load_while_written(file);
    return ours::is_sealed(kept) ? reader::load_here(kept, true) : reader::load_by_program(kept);
}

std::vector<FoundPages> Hdf5Format::load_pages(storage::Storage const& file, model::RunMap const& map,
                                               std::vector<WantedPages> const& wanted) const {
    std::vector<FoundPages> found;
    std::vector<reader::WantedDataset> asked;
    std::vector<std::size_t> places; // in `found`, of those that are asked for
    for (auto const& each : wanted) {
        auto const& known = map.tables.at(each.table).columns.at(each.column);
        found.push_back({known, {}});
        if (known.later.empty()) continue;
        asked.push_back({known.later, each.first, each.count});
        places.push_back(found.size() - 1);
    }
    auto late = asked.empty() ? std::vector<reader::LateColumn>() : reader::load_datasets_by_program(file, asked);
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

std::optional<std::string> Hdf5Format::run_id_of(storage::Storage const& file) const { return ours::run_id_of(file); }

void Hdf5Format::check(storage::Storage const& file) const { ours::check_index(file); }

MetadataBound Hdf5Format::metadata_bound(model::RunHead const& head) const { return ours::metadata_bound(head); }

bool is_hdf5(storage::Storage const& file) {
    return superblock_offset(file).has_value() || ours::run_id_of(file).has_value();
}

Format const& hdf5_format() {
    static Hdf5Format const format;
    return format;
}

} // namespace thalweg::format::hdf5::files
