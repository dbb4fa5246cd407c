#include <algorithm>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/rntuple/container/tfile_records.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/format.h"
#include "thalweg/format/rntuple/writing/blob_writer.h"
#include "thalweg/format/rntuple/writing/cluster_descriptions.h"
#include "thalweg/format/rntuple/writing/file_ending.h"
#include "thalweg/format/rntuple/writing/table_completer.h"

namespace thalweg::format::rntuple {
namespace {

// Behind everything that is referred to by some anchor (an interim footer, or an earlier attempt to complete the file)
// or by the first sector (an attempt that failed after its last write but one).
std::uint64_t end_of_readable(storage::Storage const& file, FileParts const& parts) {
    std::uint64_t end = 0;
    for (auto const& place : parts.skeleton.tables) {
        std::array<std::byte, kAnchorBytes> bytes;
        file.read(place.anchor_offset, bytes);
        try {
            auto const anchor = parse_anchor(bytes, "the anchor");
            end = std::max(end, anchor.footer_offset + anchor.footer_stored_bytes);
        } catch (base::DataError const&) {
            // Torn by a power cut: it names nothing, and is about to be written anew.
        }
    }
    // Last, as it is written last: another node may be completing the file, and what we began to write in front of
    // that end would lie in the midst of what it names.
    std::array<std::byte, kSectorBytes> sector;
    file.read(0, sector);
    BigTaker from(sector, file.path());
    return std::max(end, take_file_head(from).end);
}

} // namespace

std::uint64_t RNTupleFormat::end_of_readable(storage::Storage const& file, model::RunHead const& head) const {
    return rntuple::end_of_readable(file, file_parts(head));
}

namespace {

bool has_ended_by_age(model::RunFacts const& facts) {
    for (auto const& parts : facts.tables) {
        for (auto const& part : parts) {
            if (std::ranges::any_of(part.clusters, &model::Cluster::ended_by_age)) return true;
        }
    }
    return false;
}

Completed complete_with(Joining joining, storage::Storage& file, storage::Storage const& journal,
                        model::RunHead const& head, model::RunFacts const& facts) {
    auto const parts = file_parts(head);
    auto const readable = end_of_readable(file, parts);
    // Its anchors are there, and its first sector may follow: of what that names we know no end.
    if (facts.is_cut_last && readable > facts.end_offset)
        base::fail_data({file.path() + " is not completed again",
                         "it was completed meanwhile, or is being completed, by a recovery or by another node",
                         "`thalweg inspect` shows the rows that it has"});
    auto const begin = base::round_up(std::max(facts.end_offset, readable), base::kBlockBytes);
    BlobWriter writer(file, begin, head.created_s);
    FileEnding ending(file, parts, writer, head.created_s);
    for (std::size_t i = 0; i < head.schema.tables.size(); ++i) {
        TableCompleter completer(file, journal, head, i, writer, joining);
        ending.add_table(completer.list(parts.header_checksums[i], facts.tables[i]));
    }
    auto const units = append_units(facts.units, writer);
    auto const make_text = [&](FileSeal const& seal) { return run_text(head, facts.metadata, true, units, seal); };
    joining.done.file_bytes = std::move(ending).finish(make_text, facts.is_cut_last);
    return joining.done;
}

} // namespace

// A disk that has no room for joined clusters, or a page of them that has gone bad since, must not keep a file from
// being completed: they are left as they are then. If there is no room for copies of the rows that no producer ended
// as a cluster either, only those rows are written that are in no page: room for them and for the metadata is kept.
Completed RNTupleFormat::complete(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                                  model::RunFacts const& facts) const {
    if (has_ended_by_age(facts)) {
        try {
            return complete_with({}, file, journal, head, facts);
        } catch (base::DataError const&) {
        } catch (base::SystemError const& error) {
            if (!base::is_no_space(error.code)) throw;
        }
    }
    try {
        return complete_with({.room_bytes = 0}, file, journal, head, facts);
    } catch (base::SystemError const& error) {
        if (!base::is_no_space(error.code)) throw;
    }
    return complete_with({.room_bytes = 0, .keeps_pages = true}, file, journal, head, facts);
}

} // namespace thalweg::format::rntuple
