#include "thalweg/dataset/complete/take_over.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <optional>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/process.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/commit/intake.h"
#include "thalweg/dataset/commit/unit_collector.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/complete/torn_beginning.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/left_over.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/storage/see_disk.h"

namespace thalweg::dataset {
namespace {

std::string lost_memory(std::string const& path, std::size_t producer, base::Error const& error) {
    return fmt::format("{}: what was only in the memory of producer {} is lost ({})", path, producer, error.what());
}

// Appends to the journal what producers had published when all processes died. It is still in shared memory unless the
// machine went down, too.
void salvage(std::string const& path, model::RunHead const& head, Ledger& ledger, JournalFiles const& journal_files,
             std::vector<std::string>& notes) {
    auto journal = JournalWriter::resume(journal_files.without_segments());
    UnitCollector units;
    for (std::size_t slot = 0; slot < ledger.slots_used(); ++slot) {
        auto const state = ledger.slot(slot).state.load();
        if (state != SlotState::active && state != SlotState::finished) continue;
        try {
            ProducerIntake producer(ledger, head, slot, journal);
            producer.settle(journal, state == SlotState::active);
            if (producer.is_of_units() && ledger.units_if_any() != nullptr)
                units.take(producer, *ledger.units_if_any());
            ledger.slot(slot).change(state, SlotState::settled);
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

// The lock of the journal was free. If the run is written all the same, the journal is a copy and the data file is not.
void check_not_written(std::string const& path, Ledger const& ledger) {
    auto const& head = ledger.head();
    auto const state = head.state.load();
    bool const is_open = state == LedgerState::open || state == LedgerState::closing;
    if (!is_open || !base::is_alive(head.committer)) return;
    base::fail_usage({fmt::format("cannot take over the run of {}", path),
                      fmt::format("process {} is still writing it, as {}", head.committer.pid, head.path),
                      "recover a copy of the file and its journal, or wait"});
}

// A producer that the committer had not met before all processes died is in no journal. So even if the journal knows of
// no missing rows, there may have been some.
std::string note_of_lost_memory(std::string const& path, bool is_original, bool is_known) {
    return fmt::format("{}: {}: rows published after the last ones in the journal {} {}", path,
                       is_original ? "the memory of its producers is gone, as after a restart of the machine"
                                   : "it is a copy, and the memory of its producers belongs to the original",
                       is_known ? "are" : "may be", is_original ? "lost" : "missing");
}

// The journals are of one run, which is that of the file. What producers have left in memory on this machine is taken
// into their journals; `has_memory` says whether that is all.
void take_up_memory(UnfinishedRun& run) {
    run.has_memory = run.is_original;
    for (std::size_t i = 0; i < run.places.size(); ++i) {
        auto const& place = run.places[i];
        auto const& journal = run.journals[i];
        bool const is_begun = journal.start()->kind != JournalKind::stub;
        auto const ledger = run.is_original && is_begun ? find_ledger(run.head.id, place, journal) : nullptr;
        if (!ledger) {
            run.has_memory = false;
            continue;
        }
        check_not_written(place.data(), *ledger);
        auto const memory_lock = hold_memory(ledger->name());
        salvage(place.data(), run.head, *ledger, journal, run.notes);
        run.claimed = std::max<std::uint64_t>(run.claimed, ledger->head().claimed);
    }
}

// Returns the run that the file is of, if it is not complete.
std::optional<std::string> unfinished_run_in(std::string const& path) {
    if (!exists(path) || is_complete_file(path)) return std::nullopt;
    try {
        auto const file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
        return format_for(path).run_id_of(*file);
    } catch (base::UsageError const&) {
        return std::nullopt; // its name is not that of a container
    }
}

// The file of a run lies where the journal of that run is not.
[[noreturn]] void fail_without_journal(RunPlace const& place, std::string const& run_id, char const* verb) {
    std::string begun_at, in_memory;
    for (auto const& memory : list_memory({std::filesystem::path(place.data()).parent_path().string()})) {
        if (memory.run_id != run_id || memory.closed) continue;
        begun_at = memory.data_path;
        in_memory = ", and rows of its producers may be in the memory of this machine";
    }
    auto const advice = begun_at.empty() ? "put the file back under the name with which the run was begun, where its "
                                           "journal is, or lay its journal beside it"
                                         : fmt::format("move it back to {}, or {} to {}", begun_at,
                                                       journal_path(begun_at), place.journal());
    base::fail_usage({fmt::format("cannot {} the run of {}", verb, place.data()),
                      fmt::format("the file is not complete, there is no {}{}", place.journal(), in_memory),
                      fmt::format("{}, and {} it then", advice, verb)});
}

[[noreturn]] void fail_nothing_there(std::string const& path, char const* verb) {
    RunPlace const place(path);
    if (auto const run_id = unfinished_run_in(place.data())) fail_without_journal(place, *run_id, verb);
    // A process that closed the run may have been killed before it removed these, or a power cut brought them back.
    if (exists(path) && place.parts().is_there()) place.parts().remove();
    if (is_complete_file(place.data())) place.remove_later_segments();
    base::fail_usage({fmt::format("there is nothing to {} at {}", verb, path), "there is no " + place.journal(),
                      exists(path) ? "the file is complete, or was never Thalweg's" : ""});
}

UnfinishedRun lock_all(std::vector<RunPlace> places) {
    UnfinishedRun run{.places = std::move(places)};
    for (auto const& place : run.places) {
        auto [files, lock] = place.open_locked_journal();
        run.journals.push_back(std::move(files));
        run.locks.push_back(std::move(lock));
    }
    return run;
}

// From here on nothing is believed that only the kernel's memory has: a run whose disk failed for a while is recovered
// right behind that, on the same machine.
void see_disk(UnfinishedRun& run) {
    wait_for_killed_writers(*run.file);
    std::vector<std::string> paths{run.file->path()};
    for (auto const& journal : run.journals) {
        paths.push_back(journal.main->path());
        for (auto const& [number, segment] : open_segments(journal)) paths.push_back(segment->path());
    }
    for (auto const& path : paths) {
        if (auto const refused = storage::see_disk(path); !refused.empty()) run.notes.push_back(refused);
    }
}

// From "locked" to "taken over".
void open_and_check(UnfinishedRun& run) {
    THALWEG_ASSERT(run.locks.size() == run.places.size() && run.journals.size() == run.places.size(),
                   "every journal is locked before anything is appended to one");
    auto const& path = run.place().data();
    auto const start = run.journals.front().required_start();
    run.head = model::run_head_from_json(start->head_json);
    if (!exists(path)) {
        auto const ledger = find_ledger(run.head.id, run.place(), run.journals.front());
        base::fail_usage({fmt::format("the run of {} has no file any more", path),
                          fmt::format("only its journal {} is there{}", run.place().journal(),
                                      ledger ? ", and what its producers had in memory" : ""),
                          "put the file back; if it was removed for good, remove the journal, too"});
    }
    run.file = storage::open_file_storage(path, storage::OpenMode::read_write, storage::Engine::posix);
    run.format = &format_for(path);
    run.is_original = run.place().is_original(start->preamble);
    if (!may_have_torn_beginning(run)) check_pair(*run.file, *run.format, run.head);
    see_disk(run);
    take_up_memory(run);
    THALWEG_ASSERT(run.is_original || !run.has_memory, "a copy has no memory");
}

void write_all_again(storage::Storage& file) {
    std::vector<std::byte> bytes;
    for (std::uint64_t offset = 0, end = file.size(); offset < end; offset += bytes.size()) {
        bytes.resize(std::min<std::uint64_t>(base::kMiB, end - offset));
        file.read(offset, bytes);
        file.write(offset, bytes);
    }
    file.sync();
}

} // namespace

UnfinishedRun take_over(std::string const& path, char const* verb, bool all_nodes_are_down) {
    auto places = places_of_run(path);
    if (places.empty()) fail_nothing_there(path, verb);
    auto run = lock_all(std::move(places));
    if (!all_nodes_are_down) check_nodes_are_down(run.places, run.journals, verb);
    if (is_stub(run.places, run.journals)) {
        run.place().clear_stub();
        base::fail_usage({fmt::format("there is nothing to {} at {}", verb, path),
                          "its creator died before anything was recorded; what was left is cleared away"});
    }
    open_and_check(run);
    return run;
}

UnfinishedRun take_over_part(RunPlace const& place, char const* verb) {
    auto run = lock_all({place});
    check_nodes_are_down(run.places, run.journals, verb);
    open_and_check(run);
    make_journal_durable(run);
    return run;
}

void make_journal_durable(UnfinishedRun const& run) {
    auto const& files = run.journals.front();
    auto journal = JournalWriter::resume(files); // cuts off what was reserved
    if (files.required_start()->preamble.boot_id != base::boot_id()) {
        write_all_again(*files.main);
        for (auto const& [number, segment] : open_segments(files)) {
            write_all_again(
                *storage::open_file_storage(segment->path(), storage::OpenMode::read_write, storage::Engine::posix));
        }
    }
    journal.sync();
    base::sync_directory_of(files.main->path());
}

std::vector<std::string> lost_with_memory(UnfinishedRun const& run, RunReport const& report) {
    auto const& path = run.place().data();
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

} // namespace thalweg::dataset
