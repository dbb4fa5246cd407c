#include "thalweg/dataset/commit/intake.h"

#include <algorithm>
#include <limits>

#include "thalweg/base/error.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kUnitBytes = 44; // docs/formats/units.md: numbers and one range, beside key and summary
constexpr std::uint64_t kRowsRecordBytes = 4 << 20; // larger stretches are journaled in several records

// A slot is in shared memory, which may have any bytes.
std::size_t checked_table(std::uint32_t table, model::RunHead const& head) {
    if (table >= head.columns.size()) base::fail_data({"a producer is of a table that the run does not have"});
    return table;
}

} // namespace

ProducerIntake::ProducerIntake(Ledger& ledger, model::RunHead const& head, std::size_t slot, JournalWriter& journal)
    : head_(head), ledger_(ledger), slot_(slot), number_(ledger.slot(slot).number),
      table_(checked_table(ledger.slot(slot).table, head)), memory_(ledger.open_staging(slot)),
      staging_(Staging::open(memory_, head.columns[table_], head.layouts[table_])),
      progress_(head.columns[table_].size()) {
    journal.append(RecordType::producer, ProducerRecord{number_, static_cast<std::uint32_t>(table_),
                                                        ledger.slot(slot).producer.pid, staging_.head().of_units});
}

PageCounts ProducerIntake::take_pages(JournalWriter& journal, std::uint64_t last_ns) {
    last_ns_ = std::max(last_ns_, last_ns);
    batch_.clear();
    staging_.read_announcements(batch_);
    PageCounts counts;
    if (batch_.empty()) return counts;
    auto const announced = batch_.size();
    std::vector<UnitRows> units;
    std::vector<PageRecord> held_ends;
    std::erase_if(batch_, [&](PageRecord const& page) {
        if (page.producer != number_ || (page.column >= progress_.size() && page.column < kUnitEnd))
            base::fail_data({"a producer announced a page of no column of its own"});
        bool const unit = page.column == kUnitEnd, held = is_of_units() && page.column == kClusterEnd;
        if (unit)
            units.push_back(
                {static_cast<UnitEntryId>(page.cluster), page.count, page.first, page.stored_bytes, last_ns_});
        if (held) held_ends.push_back(page);
        return unit || held;
    });
    if (!batch_.empty()) journal.append(RecordType::pages, std::as_bytes(std::span(batch_)));
    // Other clusters may be cut anew where all dies before their units are complete; those of ordered runs may not.
    if (!held_ends.empty() && head_.keys_per_group > 0)
        journal.append(RecordType::pages, std::as_bytes(std::span(held_ends)));
    cluster_ends_.insert(cluster_ends_.end(), held_ends.begin(), held_ends.end());
    if (!units.empty()) journal_units(units, journal);
    // Only now: if this process died in between, these pages would be unknown. Journaled twice they do no harm.
    staging_.drop_announcements(announced);
    for (auto const& page : batch_) {
        if (page.column == kClusterEnd) continue;
        cover(page);
        ++counts.all;
        if (head_.columns[table_][page.column].role == model::Column::Role::lengths) ++counts.of_lengths;
    }
    return counts;
}

void ProducerIntake::journal_units(std::span<UnitRows const> units, JournalWriter& journal) {
    auto const* const there = ledger_.units_if_any();
    if (there == nullptr) base::fail_data({"a producer has work units, and the run has no table of them"});
    auto const& table = *there;
    for (auto const& unit : units) {
        auto const key = table.key(unit.entry);
        std::string more = key.text;
        if (unit.part == 0) more += table.summary(unit.entry);
        UnitRecord const record{key.integer,
                                key.is_integer ? kIntegerKey : static_cast<std::uint32_t>(key.text.size()),
                                static_cast<std::uint32_t>(more.size() - key.text.size()),
                                table.parts(unit.entry),
                                number_,
                                unit.first_row,
                                unit.rows};
        journal.append(RecordType::unit, record, std::as_bytes(std::span(more)));
        last_unit_ = unit.entry;
        // The list of a group says in 12 bytes what is a range in the file, and in 16 what are 20 there.
        unit_bytes_ += kUnitBytes + more.size() * (head_.keys_per_group > 0 ? 2 : 1);
        if (unit.part == 0) unit_entry_bytes_ += table.size_bytes(unit.entry);
    }
    // What is committed by now is at least what they need.
    units_.push_back({{units.begin(), units.end()}, {}});
    for (std::size_t i = 0; i < progress_.size(); ++i) units_.back().items.push_back(staging_.items_counted(i));
}

std::vector<ProducerIntake::UnitRows> ProducerIntake::take_units() {
    std::vector<UnitRows> taken;
    auto const is_covered = [&](UnitBatch const& batch) {
        for (std::size_t i = 0; i < progress_.size(); ++i) {
            if (progress_[i].covered < batch.items[i]) return false;
        }
        return true;
    };
    for (; !units_.empty() && is_covered(units_.front()); units_.pop_front())
        taken.insert(taken.end(), units_.front().units.begin(), units_.front().units.end());
    return taken;
}

std::optional<std::uint64_t> ProducerIntake::units_after_ns() const {
    if (units_.empty()) return std::nullopt;
    return units_.front().units.front().after_ns;
}

// It had taken the key, and may not have come to saying so.
void ProducerIntake::commit_for_the_dead(JournalWriter& journal) {
    auto& head = staging_.head();
    auto const entry = head.unit_entry.load();
    auto const* const units = ledger_.units_if_any();
    if (entry == 0 || units == nullptr || !units->is_linked(entry)) return;
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        auto& column = staging_.column(i);
        column.committed.store(column.published.load());
    }
    auto const rows = head.rows_published.load();
    head.rows_committed.store(rows);
    UnitRows const unit{entry, head.unit_part, head.unit_first_row, rows - head.unit_first_row, last_ns_};
    if (last_unit_ != entry) journal_units({&unit, 1}, journal);
    head.unit_entry.store(0);
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

std::uint64_t ProducerIntake::take_rows(JournalWriter& journal, std::uint64_t budget_bytes) {
    std::vector<std::uint64_t> ends;
    for (std::size_t i = 0; i < progress_.size(); ++i) ends.push_back(staging_.items_counted(i));
    return take_rows(journal, ends, budget_bytes);
}

std::uint64_t ProducerIntake::take_rows(JournalWriter& journal, std::span<std::uint64_t const> ends,
                                        std::uint64_t budget_bytes) {
    std::uint64_t written = 0;
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        auto& progress = progress_[i];
        // What is released is in announced pages: journaled, or on the ring. It may be by a committer before this one.
        progress.covered = std::max(progress.covered, staging_.column(i).released.load(std::memory_order_acquire));
        auto const item_bytes = staging_.column(i).item_bytes;
        while (progress.covered < ends[i] && written < budget_bytes) {
            auto const count =
                std::min(ends[i] - progress.covered, std::max<std::uint64_t>(1, kRowsRecordBytes / item_bytes));
            auto const bytes = staging_.copy_items(i, progress.covered, count);
            if (!bytes) break; // in an announced page by now
            journal.append(RecordType::rows,
                           RowsRecord{number_, static_cast<std::uint32_t>(i), progress.covered, count}, *bytes);
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
    if (is_of_units()) commit_for_the_dead(journal);
    take_rows(journal, std::numeric_limits<std::uint64_t>::max());
    if (auto const reason = staging_.abandoned()) {
        journal.append(RecordType::abandoned, AbandonedRecord{number_, static_cast<std::uint32_t>(reason->size())},
                       std::as_bytes(std::span(*reason)));
    }
    journal.append(RecordType::finish, FinishRecord{number_, died ? 1u : 0u, staging_.rows_counted()});
    settled_ = true;
}

} // namespace thalweg::dataset
