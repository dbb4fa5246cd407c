#include "thalweg/dataset/read/run_writers.h"

#include <cerrno>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/process.h"
#include "thalweg/dataset/read/node_writers.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/left_over.h"
#include "thalweg/dataset/run/lock.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {
namespace {

// A run that is closed has a journal until its process has removed it.
bool has_living_writer(Ledger const& ledger) {
    auto const state = ledger.head().state.load();
    bool const is_ended = state == LedgerState::failed || state == LedgerState::abandoned;
    return (!is_ended && base::is_alive(ledger.head().committer)) || ledger.has_producers();
}

RunWriters unknown(std::string why) { return {WriterState::unknown, std::move(why)}; }

RunWriters written_on(std::string const& host) {
    return unknown(fmt::format("it is, or was, written on {}: ask there whether it is still written", host));
}

// The writers of a run hold its journal, also those whose memory cannot be seen here.
RunWriters holders_of(std::string const& journal) {
    try {
        if (try_lock_exclusive(journal)) return {WriterState::ended, ""};
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT) throw;
        return unknown(error.what());
    }
    return unknown(
        "a process holds its journal, and its memory cannot be seen here: it is written in another container, "
        "or for one process only, or it is being recovered");
}

RunWriters writers_at(std::vector<RunPlace> const& places, std::string const& run_id) {
    auto const journals = open_journals(places, storage::OpenMode::read_only);
    RunWriters all{WriterState::ended, ""};
    for (std::size_t i = 0; i < places.size(); ++i) {
        auto writers = node_writers(places[i], journals[i], run_id).writers;
        if (writers.state == WriterState::alive) return writers;
        if (writers.state == WriterState::unknown) all = writers;
    }
    return all;
}

} // namespace

// Numbers of processes mean something in their own container alone, and until the machine is started again.
NodeWriters node_writers(RunPlace const& place, JournalFiles const& journal, std::string const& run_id) {
    auto ledger = find_ledger(run_id, place, journal);
    auto const elsewhere = ledger ? why_elsewhere(ledger->head()) : "";
    if (ledger && elsewhere.empty()) {
        auto const state = has_living_writer(*ledger) ? WriterState::alive : WriterState::ended;
        return {{state, ""}, std::move(ledger)};
    }
    std::string const host = ledger ? ledger->head().host : journal.start()->preamble.host;
    if (host != base::host_name()) return {written_on(host), nullptr};
    if (ledger && ledger->head().boot_id == base::boot_id()) return {unknown(elsewhere + ": ask there"), nullptr};
    return {holders_of(place.journal()), nullptr};
}

RunWriters writers_of(Reader const& reader) {
    try {
        auto const places = places_of_run(reader.path());
        if (!places.empty()) return writers_at(places, reader.head().id);
        if (reader.journals().empty()) return {WriterState::gone, ""};
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT) throw;
    }
    return unknown("it was closed meanwhile: look again");
}

} // namespace thalweg::dataset
