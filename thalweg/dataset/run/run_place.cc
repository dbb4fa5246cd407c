#include "thalweg/dataset/run/run_place.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/lock.h"
#include "thalweg/dataset/run/run_memory.h"

namespace thalweg::dataset {
namespace {

// What a run begins with is smaller, however many columns it has: 0.1 MB of 1400.
constexpr std::uint64_t kMostOfABeginning = base::kMiB;

// The journal of a killed process may not know of a producer whose rows are in memory.
bool has_producers_in_memory(std::string const& run_id, RunPlace const& place, JournalFiles const& journal) {
    auto const ledger = find_ledger(run_id, place, journal);
    return ledger && ledger->slots_used() > 0;
}

} // namespace

bool is_complete_file(std::string const& path) {
    try {
        if (!exists(path)) return false;
        auto const file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
        return format_of(*file).load(*file).closed;
    } catch (base::DataError const&) {
        return false;
    }
}

base::FileDescriptor RunPlace::lock_shared() const { return dataset::lock_shared(journal()); }

base::FileDescriptor RunPlace::lock_exclusive() const { return dataset::lock_exclusive(journal()); }

JournalFiles RunPlace::open_journal(storage::OpenMode mode) const {
    return {storage::open_file_storage(journal(), mode, storage::Engine::posix), segments_beside(journal())};
}

LockedJournal RunPlace::open_locked_journal() const {
    auto lock = dataset::lock_exclusive(journal(), LockFor::writing);
    return {{storage::open_file_storage(journal(), lock), segments_beside(journal())}, std::move(lock)};
}

std::optional<std::string> RunPlace::run_id() const { return journal_run_id(journal()); }

bool RunPlace::may_be_of(std::string const& run_id) const {
    auto const there = this->run_id();
    return has_journal() && (!there || *there == run_id);
}

bool RunPlace::is_original(JournalPreamble const& preamble) const {
    auto const there = data_file_at(data_);
    if (there.identity.links == 0 || there.identity.inode != preamble.inode) return false;
    bool const is_of_this_boot = preamble.boot_id == base::boot_id();
    if (is_of_this_boot && there.identity.device != preamble.device && is_elsewhere(preamble)) return false;
    if (there.birth != 0 && preamble.birth != 0) return there.birth == preamble.birth;
    // The number of the device means something to this machine alone, and until its file system is mounted again.
    return there.identity.device == preamble.device || !is_of_this_boot;
}

// A copy of a whole file system has the same inodes and times of birth. If it is mounted beside the original, the file
// is still on the device where the run was begun; a file system that was mounted again is at one place only.
bool RunPlace::is_elsewhere(JournalPreamble const& preamble) const {
    auto const ledger = find_ledger(preamble.run_id, *this, open_journal(storage::OpenMode::read_only));
    if (!ledger) return false;
    auto const begun = data_file_at(ledger->head().path).identity;
    return begun.links > 0 && begun.device == preamble.device && begun.inode == preamble.inode;
}

bool RunPlace::is_stub(JournalFiles const& journal) const {
    auto const start = journal.start();
    auto const has_no_record = [&] { return !has_record(*journal.main, start->preamble.records); };
    if (start->kind != JournalKind::journal) {
        if (start->kind == JournalKind::stub && node_.node == 0) check_only_begun();
        return start->kind == JournalKind::stub;
    }
    // No node appends before all nodes have come. The name alone says it: a power cut may have taken its text.
    if (is_of_many() && parts().has(kBegun)) return false;
    if (is_of_many()) return has_no_record();
    // A power cut may have taken the name of the data file: nothing was promised by then. If the file was moved, what
    // is in memory belongs to it.
    return !exists(data_) && has_no_record() && !has_producers_in_memory(start->preamble.run_id, *this, journal);
}

// Empty, or what every run begins with: for nothing else may be removed, if a user has laid a journal of another
// age beside it.
bool RunPlace::is_begun_and_no_more() const {
    auto const& format = format_for(data_);
    auto const file = storage::open_file_storage(data_, storage::OpenMode::read_only, storage::Engine::posix);
    if (file->size() == 0) return true;
    if (!format.run_id_of(*file)) return false;
    try {
        auto const map = format.load(*file);
        auto const beginning = storage::make_memory_storage(data_);
        format.begin(*beginning, map.head);
        return !map.closed && file->size() <= beginning->size();
    } catch (base::DataError const&) {
        return file->size() <= kMostOfABeginning;
    }
}

void RunPlace::check_only_begun() const {
    if (!exists(data_) || is_begun_and_no_more()) return;
    base::fail_data({journal() + " cannot be read",
                     fmt::format("its beginning is not whole, and {} has more than a run begins with: the journal was "
                                 "cut or damaged, or it belongs to another file",
                                 data_),
                     "put back a copy of the journal: without one the rows of that file cannot be found"});
}

void RunPlace::clear_stub() const {
    check_only_begun();
    base::remove_file(data_);
    remove_journal();
}

void RunPlace::remove_journal() const {
    if (is_of_many()) {
        parts().remove();
        base::sync_directory_of(data_);
        return;
    }
    base::remove_file(journal());
    remove_later_segments();
    base::sync_directory_of(data_);
}

// Behind the main one: no process looks for these without it; had they gone first, what it says would be less than what
// is known.
void RunPlace::remove_later_segments() const {
    if (is_of_many()) return; // they lie in the folder
    auto const later = segments_beside(journal());
    for (auto const number : later->list()) later->remove(number);
}

std::vector<RunPlace> places_of_run(std::string const& data_path) {
    RunPlace place(data_path);
    if (place.has_journal()) return {std::move(place)};
    auto const parts = place.parts();
    auto const there = parts.nodes_with_journal();
    if (there.empty()) return {};
    if (there.front() != 0) {
        if (is_complete_file(data_path)) return {}; // a process that removes them removes that one first
        base::fail_data({fmt::format("{} has journals of a run, and not that of its first node", parts.path()),
                         fmt::format("{} is not complete, so that journal was taken away", data_path), "put it back"});
    }
    std::vector<RunPlace> places;
    places.reserve(there.size());
    for (auto const node : there) places.emplace_back(data_path, NodeOfRun{node, std::max(2u, there.back() + 1)});
    return places;
}

Journals open_journals(std::vector<RunPlace> const& places, storage::OpenMode mode) {
    Journals journals;
    journals.reserve(places.size());
    for (auto const& place : places) journals.push_back(place.open_journal(mode));
    return journals;
}

} // namespace thalweg::dataset
