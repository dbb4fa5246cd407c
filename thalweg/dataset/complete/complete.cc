#include "thalweg/dataset/complete/complete.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/file_checksum.h"
#include "thalweg/dataset/complete/region_gaps.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/trace/activity.h"

namespace thalweg::dataset {

void check_pair(storage::Storage const& file, format::Format const& format, model::RunHead const& head) {
    auto const id = format.run_id_of(file);
    if (id && *id == head.id) return;
    base::fail_data(
        {fmt::format("{} and its journal do not belong together", file.path()),
         id ? "the file is of another run" : "the file was not written by Thalweg, or its beginning is damaged",
         "move one of the two away"});
}

namespace {

// The kernel may have the last write, which made the file complete, in memory alone. All others were synced before it.
void write_last_again(storage::Storage& file) {
    std::array<std::byte, kLastWriteBytes> sector;
    file.read(0, sector);
    file.write(0, sector);
    file.sync();
}

// Returns false if another program has changed the file, or if its last write is torn: then the end that it states may
// be that of one half of the write.
bool is_intact(storage::Storage const& file, format::Format const& format) {
    try {
        format.check(file);
        return true;
    } catch (base::DataError const&) {
        return false;
    } catch (base::SystemError const& error) {
        if (error.code != ENODATA) throw;
        return false;
    }
}

// A file and a journal that were copied may be of different age. So the journal of a copy is believed in nothing that
// the file does not say itself, and the file only if no page is missing that the journal knows of.
bool is_done(storage::Storage const& file, format::Format const& format, Gathered const& gathered, RunState state) {
    if (state != RunState::copied) {
        if (gathered.closed) return true;
        if (!is_complete(file, format, gathered.head)) return false;
        auto const& report = gathered.report;
        bool const knows_all = report.settled && !report.rows_may_be_missing && gathered.bad_pages.empty();
        return !knows_all || !format.is_torn(file, gathered.head); // else the journal makes a better one
    }
    return gathered.bad_pages.empty() && is_complete(file, format, gathered.head);
}

// Cuts the file to its end. Behind that lies room that was kept for metadata, or metadata of another node whose
// completion does not count.
void cut(storage::Storage& file, format::Format const& format, Gathered const& gathered) {
    auto const size = format.end_of_readable(file, gathered.head);
    if (size < gathered.facts.end_offset || size >= file.size()) return; // the first is true of a damaged file
    file.resize(size);
    file.sync();
}

std::string not_intact(std::string const& path) {
    return fmt::format(
        "{} was complete, and is not what it was then: another program has changed it, or it is damaged; "
        "`thalweg verify {}` says where",
        path, path);
}

// Returns the report of a file that was complete before. Its journal may have lost its end, or later segments.
RunReport report_of_complete(storage::Storage const& file, format::Format const& format, Gathered gathered) {
    auto const map = format.load(file);
    auto report = std::move(gathered.report);
    report.notes.clear();
    report.settled = true;
    report.units = decode_units(map.units).size();
    report.units_lost = report.damaged_pages = 0;
    for (std::size_t i = 0; i < report.tables.size(); ++i) {
        report.tables[i].rows = map.tables[i].rows;
        report.tables[i].lost_rows = 0;
    }
    return report;
}

// Returns the pages that lie in the file, in the order of their offsets, as (offset, size).
std::vector<std::pair<std::uint64_t, std::uint64_t>> pages_in_file(model::RunFacts const& facts) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pages;
    for (auto const& parts : facts.tables) {
        for (auto const& part : parts) {
            for (auto const& column : part.columns) {
                for (auto const& page : column) {
                    if (page.place == model::Page::Place::file) pages.emplace_back(page.offset, page.stored_bytes);
                }
            }
        }
    }
    std::ranges::sort(pages);
    return pages;
}

bool share_no_byte(std::vector<std::pair<std::uint64_t, std::uint64_t>> pages) {
    pages.erase(std::unique(pages.begin(), pages.end()), pages.end()); // equal pages are stored once
    return std::ranges::adjacent_find(pages, [](auto const& first, auto const& next) {
               return first.first + first.second > next.first;
           }) == pages.end();
}

bool are_behind_all(std::uint64_t offset, model::RunFacts const& facts) {
    auto const ends_before = [&](model::Page const& page) {
        return page.place != model::Page::Place::file || page.offset + page.stored_bytes <= offset;
    };
    return std::ranges::all_of(facts.tables, [&](auto const& parts) {
        return std::ranges::all_of(parts, [&](auto const& part) {
            return std::ranges::all_of(part.columns,
                                       [&](auto const& column) { return std::ranges::all_of(column, ends_before); });
        });
    });
}

// A process that finds CLOSED in the journal looks no further. Other processes may have appended records behind what
// was gathered, if this one took them for dead.
void append_closed(JournalFiles const& journal, std::uint64_t known_end) {
    JournalWriter::resume(journal.without_segments(), {}, known_end).append(RecordType::closed, {});
}

} // namespace

// A direct write that a killed process has given to io_uring may still be on its way when the process is gone. If it
// ends beside a page of the kernel's cache that we have changed meanwhile, the kernel makes the next sync fail (EIO).
// To allocate what is allocated already does nothing but wait for it.
void wait_for_killed_writers(storage::Storage& file) { file.reserve(0, std::min(file.size(), base::kBlockBytes)); }

bool clear_interim_sector(storage::Storage& file, format::Format const& format) {
    auto const offset = format.interim_sector();
    std::array<std::byte, kLastWriteBytes> sector;
    if (!offset || file.size() < *offset + sector.size()) return false;
    file.read(*offset, sector);
    if (std::ranges::all_of(sector, [](std::byte byte) { return byte == std::byte{}; })) return false;
    file.write(*offset, std::array<std::byte, kLastWriteBytes>{});
    return true;
}

void note_joined(format::Completed const& completed, RunReport& report) {
    report.joined_clusters = completed.joined_clusters;
    report.clusters_of_joined = completed.clusters_of_joined;
    report.superseded_bytes = completed.superseded_bytes;
}

void write_again(storage::Storage& file, std::vector<UnsyncedPage> const& pages) {
    std::vector<std::byte> bytes;
    for (auto const& page : pages) {
        bytes.resize(page.size_bytes);
        file.read(page.offset, bytes);
        if (base::xxh3(bytes) != page.check)
            base::fail_system({fmt::format("{} has changed since it was read", file.path()),
                               fmt::format("the page at offset {} is another one now", page.offset)},
                              ENODATA);
        file.write(page.offset, bytes);
    }
}

bool is_complete(storage::Storage const& file, format::Format const& format, model::RunHead const& head) {
    try {
        if (format.run_id_of(file) != head.id || format.is_known_open(file)) return false;
        auto const map = format.load(file);
        return map.closed && map.head.id == head.id;
    } catch (base::DataError const&) {
        return false;
    } catch (base::SystemError const& error) {
        if (error.code != ENODATA) throw; // else it is shorter than it says
        return false;
    }
}

void begin_again(storage::Storage& file, format::Format const& format, Gathered const& gathered, RunState state) {
    if (!gathered.has_barrier || state == RunState::copied) format.begin(file, gathered.head);
}

namespace {

CompleteResult complete_once(storage::Storage& file, Journals const& journals, format::Format const& format,
                             CompleteOptions const& options) {
    CompleteResult result;
    result.path = file.path();
    auto const begin_ns = base::thread_cpu_ns();
    auto gathered = gather(journals, file, options.state);
    if (options.check_gathered) options.check_gathered(gathered);
    auto const end_of_pages = gathered.facts.end_offset;
    gathered.facts.end_offset =
        base::round_up(std::max({gathered.facts.end_offset, options.least_end, base::kBlockBytes}), base::kBlockBytes);
    THALWEG_ASSERT(are_behind_all(gathered.facts.end_offset, gathered.facts), "metadata begins behind every page");
    // A journal that another process has left may say anything: what it says is checked, and not asserted.
    THALWEG_ASSERT_COSTLY(options.state != RunState::closing || share_no_byte(pages_in_file(gathered.facts)),
                          "two pages lie at one place or share no byte");
    auto const gathered_ns = base::thread_cpu_ns();
    result.gather_cpu_ns = gathered_ns - begin_ns;
    // An earlier process has done all but the last steps: readers may have opened the file by now.
    if (options.state != RunState::closing && is_done(file, format, gathered, options.state)) {
        write_last_again(file);
        if (is_complete(file, format, gathered.head) && clear_interim_sector(file, format)) file.sync();
        // If only the journal says that it is complete, the first bytes may be damaged by now, and the end that they
        // state with them.
        bool const intact = is_complete(file, format, gathered.head) && is_intact(file, format);
        if (intact) cut(file, format, gathered);
        result.report = report_of_complete(file, format, std::move(gathered));
        if (!intact) result.report.notes.push_back(not_intact(file.path()));
        result.file_bytes = file.size();
        if (options.whole_file_checksum) result.adler32 = file_adler32(file, {});
        return result;
    }
    if (options.state != RunState::closing) begin_again(file, format, gathered, options.state);
    gathered.facts.units = encode_units(place_units(gathered.units, gathered.head, gathered.facts));
    gathered.facts.is_cut_last = options.is_alone != nullptr;
    if (options.before_metadata) options.before_metadata(gathered.facts.end_offset);
    mark_gaps(file, format, gathered, options.is_beside_another ? end_of_pages : gathered.facts.end_offset);
    if (!gathered.report.nodes.empty()) write_again(file, gathered.unsynced);
    auto const completed = format.complete(file, *gathered.rows, gathered.head, gathered.facts);
    if (clear_interim_sector(file, format)) file.sync();
    if (options.is_alone && options.is_alone()) cut(file, format, gathered);
    result.file_bytes = completed.file_bytes;
    note_joined(completed, gathered.report);
    result.complete_cpu_ns = base::thread_cpu_ns() - gathered_ns;
    if (options.whole_file_checksum) result.adler32 = file_adler32(file, std::move(gathered.known));
    // Another node of the run may be writing the same metadata at this moment.
    THALWEG_ASSERT_COSTLY(!gathered.report.nodes.empty() || is_complete(file, format, gathered.head),
                          "a file is complete before its journal says so");
    append_closed(journals.front(), gathered.journal_end);
    result.report = std::move(gathered.report);
    return result;
}

// Returns how often what other machines had written and not synced can vanish after it was seen: each can lose its
// power once. If all nodes have finished, all is synced; and a copy is of one machine.
std::uint32_t most_losses(Journals const& journals, RunState state) {
    if (state != RunState::ended) return 0;
    return node_of(journals.front().required_start()->preamble).nodes - 1;
}

} // namespace

CompleteResult complete_run(storage::Storage& file, Journals const& journals, format::Format const& format,
                            CompleteOptions const& options) {
    trace::Traced traced(trace::Activity::complete_file, file.path().c_str(), 0);
    wait_for_killed_writers(file);
    for (auto losses = most_losses(journals, options.state);; --losses) {
        try {
            auto result = complete_once(file, journals, format, options);
            traced.set_size(result.file_bytes);
            traced.set_result(0);
            return result;
        } catch (base::SystemError const& error) {
            if (error.code != ENODATA || losses == 0) throw;
        }
    }
}

} // namespace thalweg::dataset
