// How the file of a run that one process writes is completed, and what becomes of its journal.
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::dataset {

CompleteResult Writer::complete_alone() {
    ended_ = true;
    try {
        return complete();
    } catch (std::exception const& error) {
        if (run_->ledger->head().state != LedgerState::failed)
            run_->ledger->fail(fmt::format("{} takes no more rows ({})", path(), error.what()));
        give_up_lock();
        throw;
    }
}

CompleteResult Writer::complete() {
    auto& ledger = *run_->ledger;
    static_cast<void>(finish_journal());
    auto const need = status().memory_need;
    CompleteOptions options;
    options.state = RunState::closing;
    options.whole_file_checksum = whole_file_checksum_;
    options.least_end = ledger.head().claimed;
    auto result = complete_run(*run_->file, journal_, *run_->format, options);
    if (!need.empty()) result.report.notes.push_back(need);
    if (!ledger.has_room())
        result.report.notes.emplace_back("the disk was full when it was closed: it has all rows that were taken");
    auto const place = place_of_complete();
    ledger.head().state = LedgerState::closed;
    if (watch_) leave(place, result);
    return result;
}

// If the file was removed, or if the file system does not say where it is, its journal stays, so that the run is not
// taken for closed.
FilePlace Writer::place_of_complete() const {
    if (!watch_) return {};
    auto place = watch_->look();
    if (place.state == FileState::unknown) place = watch_->look();
    if (place.state == FileState::removed || place.state == FileState::unknown) base::fail_system({place.problem});
    return place;
}

// The journal is removed, wherever it is by now.
void Writer::leave(FilePlace const& place, CompleteResult& result) {
    if (place.state == FileState::moved) {
        result.path = place.path.empty() ? path() : place.path;
        result.report.notes.push_back(
            fmt::format("{} was moved while it was written: it is complete {}", path(),
                        place.path.empty() ? "where it is now, which this process cannot find" : "as " + place.path));
    }
    if (!place.recovers.empty()) return remove_journals({RunPlace(place.recovers)}, {journal_}, run_->head.id);
    remove_memory_of(run_->head.id, RunPlace(path()), journal_);
    result.report.notes.push_back(
        fmt::format("the journal of {} was not found: where it is now, `thalweg recover` removes it", path()));
}

} // namespace thalweg::dataset
