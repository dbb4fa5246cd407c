#include "thalweg/dataset/intake.h"

#include <algorithm>
#include <limits>

#include "thalweg/base/error.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kRowsRecordBytes = 4 << 20; // larger stretches are journaled in several records

} // namespace

ProducerIntake::ProducerIntake(Ledger& ledger, model::RunHead const& head, std::size_t slot, JournalWriter& journal)
    : head_(head), slot_(slot), table_(ledger.slot(slot).table), memory_(ledger.open_staging(slot)),
      staging_(Staging::open(memory_, head.columns.at(table_), head.layouts.at(table_))),
      progress_(head.columns[table_].size()) {
    journal.append(RecordType::producer,
                   ProducerRecord{static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(table_),
                                  ledger.slot(slot).producer.pid, 0});
}

ProducerIntake::~ProducerIntake() {
    if (!settled_) memory_->keep();
}

PageCounts ProducerIntake::take_pages(JournalWriter& journal) {
    batch_.clear();
    staging_.read_announcements(batch_);
    PageCounts counts;
    if (batch_.empty()) return counts;
    for (auto const& page : batch_) {
        if (page.producer != slot_ || (page.column >= progress_.size() && page.column != kClusterEnd)) {
            base::fail_data({"a producer announced a page of no column of its own"});
        }
    }
    journal.append(RecordType::pages, std::as_bytes(std::span(batch_)));
    // Only now: were we to die in between, nobody would know of these pages. Journaled twice they do no harm.
    staging_.drop_announcements(batch_.size());
    for (auto const& page : batch_) {
        if (page.column == kClusterEnd) continue;
        cover(page);
        ++counts.all;
        if (head_.columns[table_][page.column].role == model::Column::Role::lengths) ++counts.of_lengths;
    }
    return counts;
}

void ProducerIntake::cover(PageRecord const& page) {
    auto& progress = progress_[page.column];
    progress.early.push_back(page);
    // Nearly always just this one: pages come in order unless several threads seal.
    for (bool found = true; found;) {
        found = false;
        for (auto each = progress.early.begin(); each != progress.early.end(); ++each) {
            if (each->first != progress.sealed) continue;
            progress.sealed += each->count;
            progress.early.erase(each);
            found = true;
            break;
        }
    }
    progress.covered = std::max(progress.covered, progress.sealed);
}

// Rows that are worth making whole now: those in announced pages of the column that is furthest, or, where that
// column announced nothing since the last time, all that are published.
std::uint64_t ProducerIntake::wanted_rows() const {
    std::uint64_t sealed = 0;
    bool moving = false;
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        if (head_.columns[table_][i].parent) continue;
        sealed = std::max(sealed, progress_[i].sealed);
        moving = moving || progress_[i].sealed != progress_[i].sealed_before;
    }
    auto const published = staging_.head().rows_published.load(std::memory_order_acquire);
    return moving ? std::min(sealed, published) : published;
}

std::uint64_t ProducerIntake::wanted_items(std::size_t column, std::uint64_t rows, bool everything) const {
    auto const published = staging_.column(column).published.load(std::memory_order_acquire);
    // Items inside lists are not counted by rows: take what there is; what belongs to no whole row is left out later.
    if (everything || head_.columns[table_][column].parent) return published;
    return std::min(rows, published);
}

std::uint64_t ProducerIntake::take_rows(JournalWriter& journal, bool everything, std::uint64_t budget_bytes) {
    auto const rows = wanted_rows();
    std::uint64_t written = 0;
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        auto& progress = progress_[i];
        progress.sealed_before = progress.sealed;
        // What is released is in announced pages: journaled, or on the ring. It may be by a committer before this one.
        progress.covered = std::max(progress.covered, staging_.column(i).released.load(std::memory_order_acquire));
        auto const item_bytes = staging_.column(i).item_bytes;
        auto const end = wanted_items(i, rows, everything);
        while (progress.covered < end && written < budget_bytes) {
            auto const count =
                std::min(end - progress.covered, std::max<std::uint64_t>(1, kRowsRecordBytes / item_bytes));
            auto const bytes = staging_.copy_items(i, progress.covered, count);
            if (!bytes) break; // in an announced page by now
            RowsRecord const record{static_cast<std::uint32_t>(slot_), static_cast<std::uint32_t>(i), progress.covered,
                                    count};
            journal.append(RecordType::rows, record, *bytes);
            progress.covered += count;
            written += bytes->size();
        }
    }
    return written;
}

std::vector<std::uint64_t> ProducerIntake::covered_items() const {
    std::vector<std::uint64_t> items;
    for (auto const& progress : progress_) items.push_back(progress.covered);
    return items;
}

void ProducerIntake::settle(JournalWriter& journal, bool died) {
    if (settled_) return;
    take_pages(journal);
    take_rows(journal, true, std::numeric_limits<std::uint64_t>::max());
    journal.append(RecordType::finish, FinishRecord{static_cast<std::uint32_t>(slot_), died ? 1u : 0u,
                                                    staging_.head().rows_published.load(std::memory_order_acquire)});
    settled_ = true;
}

} // namespace thalweg::dataset
