#include "thalweg/dataset/complete/part_of_dead.h"

#include "thalweg/base/error.h"
#include "thalweg/base/process.h"
#include "thalweg/dataset/complete/take_over.h"
#include "thalweg/dataset/run/run_memory.h"

namespace thalweg::dataset {
namespace {

bool has_memory_here(RunPlace const& place) {
    auto const journal = place.open_journal(storage::OpenMode::read_only);
    auto const start = journal.start();
    bool const is_here = start->kind == JournalKind::journal && start->preamble.boot_id == base::boot_id();
    return is_here && find_ledger(start->preamble.run_id, place, journal) != nullptr;
}

} // namespace

bool journal_part_of_dead(RunPlace const& place) {
    if (!has_memory_here(place)) return false;
    try {
        auto const run = take_over_part(place, "take over");
        run.file->sync(); // another machine completes the file: it sees what this one has written
        if (!run.has_memory || !run.notes.empty()) return false;
        remove_memory_of(run.head.id, place, run.journals.front());
        return true;
    } catch (base::UsageError const&) {
        return false; // a process of the node lives
    }
}

} // namespace thalweg::dataset
