#include "thalweg/dataset/complete/complete.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/memory.h"
#include "thalweg/base/process.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/commit/intake.h"
#include "thalweg/dataset/commit/unit_collector.h"
#include "thalweg/dataset/complete/file_checksum.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/complete/region_gaps.h"
#include "thalweg/dataset/complete/torn_beginning.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/left_over.h"
#include "thalweg/dataset/run/region_plan.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/trace/activity.h"

namespace thalweg::dataset {

// The journal names the run, and so does the file: they must be the same.
void check_pair(storage::Storage const& file, format::Format const& format, model::RunHead const& head) {
    auto const id = format.run_id_of(file);
    if (id && *id == head.id) return;
    base::fail_data(
        {fmt::format("{} and its journal do not belong together", file.path()),
         id ? "the file is of another run" : "the file was not written by Thalweg, or its beginning is damaged",
         "move one of the two away"});
}

namespace {

std::string lost_memory(std::string const& path, std::size_t producer, base::Error const& error) {
    return fmt::format("{}: what was only in the memory of producer {} is lost ({})", path, producer, error.what());
}

// What a killed process had given to io_uring may still be on its way when the process is gone, and where such a direct
// write ends beside a page that we have changed meanwhile, the kernel makes the next sync fail (EIO). To allocate what
// is allocated already does nothing but wait for it.
void wait_for_the_dead(storage::Storage& file) { file.reserve(0, std::min(file.size(), base::kBlockBytes)); }

// What producers had published when everything died is still in memory, unless the machine went down, too.
void salvage(std::string const& path, model::RunHead const& head, Ledger& ledger, JournalFiles const& journal_files,
             std::vector<std::string>& notes) {
    auto journal = JournalWriter::resume(journal_files.main);
    UnitCollector units;
    for (std::size_t slot = 0; slot < ledger.slots_used(); ++slot) {
        auto const state = ledger.slot(slot).state.load();
        if (state != SlotState::active && state != SlotState::finished) continue;
        try {
            ProducerIntake producer(ledger, head, slot, journal);
            producer.settle(journal, state == SlotState::active);
            if (producer.is_of_units() && ledger.units_if_any() != nullptr)
                units.take(producer, *ledger.units_if_any());
            ledger.slot(slot).state = SlotState::settled;
        } catch (base::DataError const& error) {
            notes.push_back(lost_memory(path, slot, error));
        } catch (base::SystemError const& error) {
            if (error.code != ENOENT) throw; // a full disk, say: the memory stays for the next try
            notes.push_back(lost_memory(path, slot, error));
        }
    }
    units.journal_cluster_ends(journal);
    if (notes.empty()) journal.append(RecordType::settled, {});
    journal.sync();
}

// The file may be complete in the kernel's memory alone: its last write makes it so, and all others were synced before.
void write_last_again(storage::Storage& file) {
    std::array<std::byte, kLastWriteBytes> sector;
    file.read(0, sector);
    file.write(0, sector);
    file.sync();
}

// Not where another program has changed it, or its last write is torn: then its end may be what one half of that says.
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
// the file does not say itself, and the file only where no page is missing that the journal knows of.
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

// What is behind its end is room that was kept, or metadata of somebody whose completion counts no more.
void cut(storage::Storage& file, format::Format const& format, Gathered const& gathered) {
    auto const size = format.end_of_readable(file, gathered.head);
    if (size < gathered.facts.end_offset || size >= file.size()) return; // the first: of a damaged file
    file.resize(size);
    file.sync();
}

std::string not_intact(std::string const& path) {
    return fmt::format(
        "{} was complete, and is not what it was then: another program has changed it, or it is damaged; "
        "`thalweg verify {}` says where",
        path, path);
}

// Of a file that was complete before, whose journal may have lost its end, or later segments.
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

} // namespace

void note_joined(format::Completed const& completed, RunReport& report) {
    report.joined_clusters = completed.joined_clusters;
    report.clusters_of_joined = completed.clusters_of_joined;
    report.superseded_bytes = completed.superseded_bytes;
}

void write_again(storage::Storage& file, std::vector<KnownBytes> const& pages) {
    std::vector<std::byte> bytes;
    for (auto const& page : pages) {
        bytes.resize(page.size_bytes);
        file.read(page.offset, bytes);
        file.write(page.offset, bytes);
    }
}

bool is_complete(storage::Storage const& file, format::Format const& format, model::RunHead const& head) {
    try {
        if (format.run_id_of(file) != head.id) return false;
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

CompleteResult complete_run(storage::Storage& file, Journals const& journals, format::Format const& format,
                            CompleteOptions const& options) {
    trace::Traced traced(trace::Activity::complete_file, file.path().c_str(), 0);
    CompleteResult result;
    result.path = file.path();
    auto const begin_ns = base::thread_cpu_ns();
    wait_for_the_dead(file);
    auto gathered = gather(journals, file, options.state);
    auto const end_of_pages = gathered.facts.end_offset;
    gathered.facts.end_offset =
        base::round_up(std::max({gathered.facts.end_offset, options.least_end, base::kBlockBytes}), base::kBlockBytes);
    auto const gathered_ns = base::thread_cpu_ns();
    result.gather_cpu_ns = gathered_ns - begin_ns;
    // All but the last steps were done before: others may be reading the file by now.
    if (options.state != RunState::closing && is_done(file, format, gathered, options.state)) {
        write_last_again(file);
        // Where the journal alone says so, the first bytes may be damaged by now, and the end that they state with
        // them.
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
    if (options.is_alone && options.is_alone()) cut(file, format, gathered);
    result.file_bytes = completed.file_bytes;
    note_joined(completed, gathered.report);
    result.complete_cpu_ns = base::thread_cpu_ns() - gathered_ns;
    if (options.whole_file_checksum) result.adler32 = file_adler32(file, std::move(gathered.known));
    JournalWriter::resume(journals.front().main).append(RecordType::closed, {});
    result.report = std::move(gathered.report);
    traced.set_size(result.file_bytes);
    traced.set_result(0);
    return result;
}

void remove_journals(std::vector<RunPlace> const& places, std::string const& run_id) {
    // First: while there is a journal, `recover` comes back for the rest.
    for (auto const& place : places) remove_memory_of(run_id, place);
    places.front().remove_journal();
}

namespace {

// Its lock was free: so the journal is a copy, and the data file is not.
void check_not_written(std::string const& path, Ledger const& ledger) {
    auto const& head = ledger.head();
    auto const state = head.state.load();
    bool const is_open = state == LedgerState::open || state == LedgerState::closing;
    if (!is_open || !base::is_alive(head.committer)) return;
    base::fail_usage({fmt::format("cannot take over the run of {}", path),
                      fmt::format("process {} is still writing it, as {}", head.committer.pid, head.path),
                      "recover a copy of the file and its journal, or wait"});
}

// Who has published something and was not met by the committer before all died, is in no journal: so even where that
// knows of no rows that are missing, nobody can say that there were none.
std::string note_of_lost_memory(std::string const& path, bool is_original, bool is_known) {
    return fmt::format("{}: {}: rows published after the last ones in the journal {} {}", path,
                       is_original ? "the memory of its producers is gone, as after a restart of the machine"
                                   : "it is a copy, and the memory of its producers belongs to the original",
                       is_known ? "are" : "may be", is_original ? "lost" : "missing");
}

// The journals are of one run, which is that of the file. What producers have left in memory on this machine is taken
// into their journals; whether that is all, is the result.
void take_up(UnfinishedRun& run, std::vector<RunPlace> const& places) {
    run.has_memory = run.is_original;
    for (std::size_t i = 0; i < places.size(); ++i) {
        bool const is_begun = read_start(*run.journals[i].main).kind != JournalKind::stub;
        auto const ledger = run.is_original && is_begun ? find_ledger(run.head.id, places[i]) : nullptr;
        if (!ledger) {
            run.has_memory = false;
            continue;
        }
        check_not_written(places[i].data(), *ledger);
        auto const memory_lock = hold_memory(ledger->name());
        wait_for_the_dead(*run.file);
        salvage(places[i].data(), run.head, *ledger, run.journals[i], run.notes);
        run.claimed = std::max<std::uint64_t>(run.claimed, ledger->head().claimed);
    }
}

[[noreturn]] void fail_nothing_there(std::string const& path, char const* verb) {
    RunPlace const place(path);
    // What whoever closed it could not remove.
    if (exists(path) && place.parts().is_there()) place.parts().remove();
    base::fail_usage({fmt::format("there is nothing to {} at {}", verb, path), "there is no " + place.journal(),
                      exists(path) ? "the file is complete, or was never Thalweg's" : ""});
}

UnfinishedRun locked(std::vector<RunPlace> const& places, char const* verb, RecoverOptions const& options) {
    UnfinishedRun run{.place = places.front()};
    for (auto const& place : places) run.locks.push_back(place.lock_exclusive());
    if (!options.all_nodes_are_down) check_nodes_are_down(places, verb);
    return run;
}

void open_locked(UnfinishedRun& run, std::vector<RunPlace> const& places) {
    auto const& path = run.place.data();
    for (auto const& place : places) run.journals.push_back(place.open_journal(storage::OpenMode::read_write));
    auto const start = require_start(*run.journals.front().main);
    run.head = model::run_head_from_json(start.head_json);
    run.file = storage::open_file_storage(path, storage::OpenMode::read_write, storage::Engine::posix);
    run.format = &format_for(path);
    run.is_original = run.place.is_original(start.preamble);
    if (!may_have_torn_beginning(run)) check_pair(*run.file, *run.format, run.head);
    take_up(run, places);
}

void write_all_again(storage::Storage& file) {
    for (std::uint64_t offset = 0, end = file.size(); offset < end; offset += base::kMiB)
        write_again(file, {{offset, std::min<std::uint64_t>(base::kMiB, end - offset)}});
    file.sync();
}

} // namespace

UnfinishedRun take_over(std::string const& path, char const* verb, RecoverOptions const& options) {
    auto const places = places_of_run(path);
    if (places.empty()) fail_nothing_there(path, verb);
    auto run = locked(places, verb, options);
    if (is_stub(places)) {
        run.place.clear_stub();
        base::fail_usage({fmt::format("there is nothing to {} at {}", verb, path),
                          "whoever created it died before anything was recorded; what was left is cleared away"});
    }
    open_locked(run, places);
    return run;
}

UnfinishedRun take_over_part(RunPlace const& place, char const* verb) {
    auto run = locked({place}, verb, {});
    open_locked(run, {place});
    make_journal_durable(run);
    return run;
}

void make_journal_durable(UnfinishedRun const& run) {
    auto const& files = run.journals.front();
    auto journal = JournalWriter::resume(files); // cuts off what was reserved
    if (require_start(*files.main).preamble.boot_id != base::boot_id()) {
        write_all_again(*files.main);
        for (auto const& [number, segment] : open_segments(files)) {
            write_all_again(
                *storage::open_file_storage(segment->path(), storage::OpenMode::read_write, storage::Engine::posix));
        }
    }
    journal.sync();
    base::sync_directory_of(files.main->path());
}

namespace {

// Keeps out of the way of those that may not be down after all. They see the announcements, and take no regions any
// more; nothing that they have called durable before is missing in their journals, which are read behind that.
void leave_room_for_others(UnfinishedRun const& run, std::vector<RunPlace> const& places, CompleteOptions& options) {
    if (may_be_written_elsewhere(places).empty()) return;
    auto const parts = run.place.parts();
    constexpr char const* kText = "all nodes are down, says who recovers it";
    parts.announce(kRecovering, kText);
    options.is_beside_another = !parts.announce(kCompleting, kText); // one that writes its metadata, perhaps
    if (options.is_beside_another) options.least_end = std::max(options.least_end, run.file->size());
    auto const taken = parts.regions();
    if (taken.empty()) return;
    auto const nodes = node_of(require_start(*run.journals.front().main).preamble).nodes;
    auto const plan = region_plan(*run.format, run.head, nodes);
    options.least_end = std::max(options.least_end, plan.region(taken.back()).end);
}

} // namespace

std::vector<std::string> lost_with_memory(UnfinishedRun const& run, RunReport const& report) {
    auto const& path = run.place.data();
    auto notes = run.notes;
    if (!run.has_memory && !report.settled && report.nodes.empty())
        notes.push_back(note_of_lost_memory(path, run.is_original, report.producers_unsettled > 0));
    for (auto const& node : report.nodes) {
        if (node.settled || !node.has_journal) continue;
        notes.push_back(note_of_lost_memory(fmt::format("{}, {} ({})", path, name_of_node(node.node), node.host),
                                            run.is_original, false));
    }
    return notes;
}

CompleteResult recover(std::string const& path, RecoverOptions const& recover_options) {
    auto run = take_over(path, "recover", recover_options);
    CompleteOptions options;
    if (!run.is_original) options.state = RunState::copied;
    options.least_end = run.claimed;
    auto const places = places_of_run(path);
    if (run.place.is_of_many()) {
        options.before_metadata = [&](std::uint64_t end) { use_rooms(places, *run.file, end); };
        if (run.is_original) leave_room_for_others(run, places, options);
    }
    auto result = complete_run(*run.file, run.journals, *run.format, options);
    auto& report = result.report;
    auto const lost = lost_with_memory(run, report);
    if (!lost.empty()) report.rows_may_be_missing = true;
    report.notes.insert(report.notes.end(), lost.begin(), lost.end());
    if (run.is_original)
        remove_journals(places, run.head.id);
    else
        run.place.remove_journal();
    return result;
}

} // namespace thalweg::dataset
