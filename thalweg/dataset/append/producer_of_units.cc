// What a producer does for work units, whose rows are the tail of its columns.
#include <algorithm>

#include "thalweg/base/assert.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/append/sealer.h"
#include "thalweg/dataset/append/staging_memory.h"
#include "thalweg/dataset/run/backoff.h"

namespace thalweg::dataset {

void Producer::begin_unit() {
    check_usable();
    // Here and not in `commit_unit`: once the key is taken nothing may fail for want of room.
    if (cluster_bytes_ > 0) {
        bool const half_of_memory = !fixed_cuts_ && memory_->open_bytes() >= memory_->most_bytes() / 2;
        bool const is_full = cluster_.bytes >= cluster_bytes_ || half_of_memory;
        if (is_full || is_cluster_old()) end_cluster(!is_full);
    }
    unit_ = {rows_, cluster_.bytes};
}

void Producer::prepare_commit(UnitEntryId entry, std::uint32_t part) const {
    check_usable();
    staging_->head().unit_part = part;
    staging_->head().unit_first_row = unit_.first_row;
    staging_->head().unit_entry.store(entry);
}

void Producer::commit_unit(UnitEntryId entry) {
    auto& head = staging_->head();
    THALWEG_ASSERT(head.unit_entry.load() == entry, "a unit is prepared before it is committed");
    for (std::size_t i = 0; i < progress_.size(); ++i)
        staging_->column(i).committed.store(progress_[i].written, std::memory_order_release);
    head.rows_committed.store(rows_, std::memory_order_release);
    PageRecord end{};
    end.producer = number_;
    end.column = kUnitEnd;
    end.first = unit_.first_row;
    end.count = head.unit_part;
    end.stored_bytes = unit_rows();
    end.cluster = entry;
    Backoff backoff;
    while (!sealer_->announce(end)) { // the ring is full: the committer has to empty it
        run_->ledger->check_alive();
        backoff.pause();
    }
    head.unit_entry.store(0);
    unit_ = {rows_, cluster_.bytes};
}

// Nothing of the unit is in a page: its rows are still where only this producer looks.
bool Producer::can_rewind() const {
    if (cluster_.first_row > unit_.first_row) return false;
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        if (progress_[i].sealed > staging_->column(i).committed.load()) return false;
    }
    return true;
}

void Producer::rewind() {
    staging_->head().rows_published.store(unit_.first_row, std::memory_order_release);
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        auto& column = staging_->column(i);
        progress_[i].written = column.committed.load();
        column.published.store(progress_[i].written, std::memory_order_release);
        memory_->truncate(i, progress_[i].written * column.item_bytes);
    }
    rows_ = unit_.first_row;
    cluster_.bytes = unit_.cluster_bytes;
    torn_ = false;
    THALWEG_ASSERT_COSTLY(has_whole_rows(), "a unit is dropped in all columns");
}

void Producer::drop_unit() {
    if (fork_generation_ != base::fork_generation()) check_usable();
    if (finished_) return;
    staging_->head().unit_entry.store(0);
    if (can_rewind()) return rewind();
    torn_ = true; // no cluster ends with rows that do not count
    auto const rows = rows_before_ + unit_.first_row;
    finish();
    start(std::shared_ptr(run_));
    rows_before_ = rows;
    finished_ = false;
    torn_ = false;
}

void Producer::seal_unit() {
    check_usable();
    end_cluster();
    drain();
}

void Producer::drop_unit_and_finish() {
    if (fork_generation_ != base::fork_generation()) check_usable();
    if (finished_) return;
    staging_->head().unit_entry.store(0);
    torn_ = true; // no cluster ends with rows that do not count
    finish();
}

} // namespace thalweg::dataset
