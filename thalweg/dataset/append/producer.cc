#include "thalweg/dataset/append/producer.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/append/sealer.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/run/backoff.h"

namespace thalweg::dataset {
namespace {

// Fewer raw bytes are not worth a cluster when a producer ends that never filled a page: the committer journals them,
// and they share one with the rest of other producers when the file is completed. A cluster takes kilobytes of metadata
// and padding.
constexpr std::uint64_t kLeastClusterBytes = 64 << 10;

// The largest number where the sum has no place in half of it.
std::uint64_t checked_sum_of(std::span<std::byte const> lengths) {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < lengths.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t length;
        std::memcpy(&length, lengths.data() + at, sizeof length);
        if (length > std::numeric_limits<std::uint64_t>::max() / 2 - sum)
            return std::numeric_limits<std::uint64_t>::max();
        sum += length;
    }
    return sum;
}

// Lengths are mostly far too small to overflow: one look at all of them together lets the loop be vectorised.
std::uint64_t sum_of(std::span<std::byte const> lengths) {
    constexpr std::uint64_t kFew = 1ull << 23, kSmall = 1ull << 39;
    auto const count = lengths.size() / sizeof(std::uint64_t);
    std::uint64_t sum = 0, bits = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t length;
        std::memcpy(&length, lengths.data() + i * sizeof length, sizeof length);
        sum += length;
        bits |= length;
    }
    return count <= kFew && bits < kSmall ? sum : checked_sum_of(lengths);
}

// So many rows have about this size, and at least one.
std::uint64_t rows_for(std::span<std::span<std::byte const> const> columns, std::uint64_t rows, std::uint64_t bytes) {
    std::uint64_t total = 0;
    for (auto const& column : columns) total += column.size();
    return total <= bytes ? rows : std::max<std::uint64_t>(1, bytes / (total / rows + 1));
}

} // namespace

// What is left of the caller's spans.
struct Producer::Slices {
    std::vector<model::Column> const& columns;
    std::vector<std::span<std::byte const>> rest;

    std::span<std::byte const> take(std::size_t column, std::uint64_t items) {
        auto const bytes = rest[column].first(items * columns[column].item_bytes());
        rest[column] = rest[column].subspan(bytes.size());
        return bytes;
    }
};

Producer::Producer(std::shared_ptr<OpenRun> run, std::size_t table, bool of_units)
    : table_(table), of_units_(of_units), fork_generation_(base::fork_generation()) {
    start(std::move(run));
}

Producer::Producer(Producer&&) noexcept = default;

Producer::~Producer() {
    if (!run_) return;
    if (fork_generation_ != base::fork_generation()) {
        static_cast<void>(sealer_.release()); // its threads and writes are the parent's: there is nothing to wait for
        return;
    }
    if (finished_) return;
    if (std::uncaught_exceptions() > exceptions_) staging_->set_abandoned("an exception left the block that had it");
    give_up_slot();
}

void Producer::abandon(std::string_view reason) noexcept {
    if (finished_ || !run_ || fork_generation_ != base::fork_generation()) return;
    finished_ = true;
    staging_->set_abandoned(reason);
    give_up_slot();
}

void Producer::give_up_slot() {
    sealer_.reset(); // waits for writes in flight, so that nothing is written after the slot is given up
    run_->ledger->slot(slot_).state = SlotState::finished;
}

void Producer::start(std::shared_ptr<OpenRun> run) {
    run->ledger->check_alive();
    auto const index = take_slot(*run);
    auto& slot = run->ledger->slot(index);
    try {
        prepare(*run, index);
    } catch (...) {
        slot.state = SlotState::settled; // nothing will come: nobody has to wait for it
        throw;
    }
    run_ = std::move(run);
    slot_ = index;
    number_ = slot.number;
    slot.state = SlotState::active;
}

// Where all slots are taken, some may be of producers that have ended: the committer will free those.
std::size_t Producer::take_slot(OpenRun& run) const {
    auto& ledger = *run.ledger;
    Backoff backoff;
    while (true) {
        if (auto const slot = ledger.take_slot(table_)) return *slot;
        bool one_will_be_free = false;
        for (std::size_t i = 0; i < ledger.slots() && !one_will_be_free; ++i) {
            auto const& slot = ledger.slot(i);
            one_will_be_free = slot.state >= SlotState::finished || slot.taker == 0 || ledger.is_orphaned(i);
        }
        if (!one_will_be_free) {
            base::fail_usage({fmt::format("{} cannot take another producer", run.path()),
                              fmt::format("it has {} at present, which is the most", ledger.slots()),
                              "finish some, or write from fewer threads"});
        }
        ledger.check_alive();
        if (while_waiting_) while_waiting_();
        backoff.pause();
    }
}

void Producer::prepare(OpenRun& run, std::size_t slot) {
    run.ledger->check_alive();
    if (run.ledger->head().state == LedgerState::closing) {
        base::fail_usage({run.path() + " takes no more producers", "the run is being closed"});
    }
    auto const& columns = run.head.columns.at(table_);
    auto const& layout = run.head.layouts[table_];
    auto const& options = run.options.staging;
    auto memory = run.ledger->make_staging(slot, staging_size_bytes(columns, layout, options));
    auto staging = std::make_unique<Staging>(Staging::format(std::move(memory), columns, layout, options, of_units_));
    sealer_ = std::make_unique<Sealer>(run, *staging, table_, run.ledger->slot(slot).number);
    staging_ = std::move(staging);
    progress_.assign(columns.size(), {});
    cluster_ = {};
    unit_ = {};
    cluster_bytes_ = layout.cluster_bytes;
    rows_ = 0;
    rows_per_batch_ = layout.block_rows;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (!columns[i].parent) rows_per_batch_ = std::min(rows_per_batch_, layout.columns[i].page_items);
    }
}

void Producer::check_usable() const {
    if (fork_generation_ != base::fork_generation()) {
        base::fail_usage({"this producer belongs to the parent process", "it was inherited through fork",
                          "use attach(handle) in the child"});
    }
    if (finished_) {
        base::fail_usage(
            {fmt::format("table '{}' of {} takes no more rows from this producer", table().name, run_->path()),
             "it is finished"});
    }
    if (torn_) {
        base::fail_usage(
            {fmt::format("table '{}' of {} takes no more rows from this producer", table().name, run_->path()),
             "an error interrupted it in the middle of a row", "finish it and make a new one"});
    }
    run_->ledger->check_alive();
    auto const& slot = run_->ledger->slot(slot_);
    if (slot.number != number_ || slot.state != SlotState::active) {
        base::fail_system(
            {fmt::format("table '{}' of {} takes no more rows from this producer", table().name, run_->path()),
             "the committer took this process for dead and has taken over its rows"});
    }
}

void Producer::append(std::uint64_t rows, std::span<std::span<std::byte const> const> data) {
    check_usable();
    if (data.size() != columns().size()) {
        base::fail_usage({fmt::format("table '{}': {} columns were given", table().name, data.size()),
                          fmt::format("it has {}", columns().size())});
    }
    std::vector<std::uint64_t> inner(columns().size()); // items inside the lists of each lengths column
    for (std::size_t i = 0; i < columns().size(); ++i) {
        auto const& column = columns()[i];
        auto const items = column.parent ? inner[*column.parent] : rows;
        if (items > data[i].size() || data[i].size() != items * column.item_bytes()) {
            base::fail_usage(
                {fmt::format("table '{}', column '{}': {} bytes were given", table().name, column.path, data[i].size()),
                 fmt::format("{} items of {} bytes are needed", items, column.item_bytes())});
        }
        if (column.role == model::Column::Role::lengths) inner[i] = sum_of(data[i]);
    }
    if (!of_units_) follow_rotation(); // the others follow with their worker, between units
    Slices slices{columns(), {data.begin(), data.end()}};
    auto const most_rows = cluster_bytes_ == 0 ? rows : rows_for(data, rows, cluster_bytes_ / 4);
    while (rows > 0) {
        // Up to the next page of the widest column, so that rows are published page by page.
        auto const batch = std::min({rows, most_rows, rows_per_batch_ - rows_ % rows_per_batch_});
        append_batch(slices, batch);
        rows -= batch;
        if (is_cluster_full()) end_cluster();
    }
}

// At a row where pages end in all columns that count rows, unless such rows are too far apart.
bool Producer::is_cluster_full() const {
    if (cluster_bytes_ == 0 || cluster_.bytes < cluster_bytes_) return false;
    if (of_units_) return cluster_.bytes >= 2 * cluster_bytes_; // inside a unit; else it ends with the unit
    if (cluster_.bytes >= cluster_bytes_ + cluster_bytes_ / 2) return true;
    auto const row_bytes = cluster_.bytes / (rows_ - cluster_.first_row);
    auto const block_rows = run_->head.layouts[table_].block_rows;
    return rows_ % (block_rows * row_bytes <= cluster_bytes_ / 2 ? block_rows : rows_per_batch_) == 0;
}

void Producer::end_cluster() {
    if (cluster_bytes_ == 0 || cluster_.first_row == rows_) return;
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        seal_page(i);
        progress_[i].sum = 0;
    }
    sealer_->end_cluster(cluster_.first_row, rows_ - cluster_.first_row, while_waiting_);
    cluster_ = {rows_, 0};
}

void Producer::append_batch(Slices& slices, std::uint64_t rows) {
    std::vector<std::span<std::byte const>> parts;
    for (std::size_t i = 0; i < columns().size(); ++i) {
        auto const& parent = columns()[i].parent;
        parts.push_back(slices.take(i, parent ? sum_of(parts[*parent]) : rows));
        // All columns first: an interrupt that comes while we wait then finds no row half copied.
        wait_for_room(i, parts[i].size() / columns()[i].item_bytes());
    }
    torn_ = true;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < columns().size(); ++i) {
        copy_items(i, parts[i]);
        bytes += parts[i].size();
    }
    torn_ = false;
    rows_ += rows;
    cluster_.bytes += bytes;
    staging_->head().rows_published.store(rows_, std::memory_order_release);
    // Nobody else counts these, so no locked addition, which would wait until the copy has reached the cache.
    auto& appended_bytes = staging_->count(Count::appended_bytes);
    appended_bytes.store(appended_bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

void Producer::wait_for_room(std::size_t index, std::uint64_t items) {
    auto& column = staging_->column(index);
    auto const capacity = column.page_items * column.buffers;
    // More than fits at once waits again in copy_items, page by page.
    auto const needed = std::min(items, column.page_items * (column.buffers - 1));
    auto const has_room = [&] {
        return progress_[index].written + needed - column.released.load(std::memory_order_acquire) <= capacity;
    };
    if (has_room()) return;
    auto const begin_ns = base::monotonic_ns();
    while (!has_room()) {
        run_->ledger->check_alive();
        sealer_->make_progress(while_waiting_);
    }
    staging_->add(Count::append_wait_ns, base::monotonic_ns() - begin_ns);
}

void Producer::copy_items(std::size_t index, std::span<std::byte const> bytes) {
    auto& column = staging_->column(index);
    auto& next = progress_[index].written;
    while (!bytes.empty()) {
        auto const room = column.page_items - next % column.page_items;
        auto const items = std::min<std::uint64_t>(room, bytes.size() / column.item_bytes);
        if (room == column.page_items) wait_for_room(index, items);
        std::memcpy(staging_->item(index, next), bytes.data(), items * column.item_bytes);
        bytes = bytes.subspan(items * column.item_bytes);
        next += items;
        column.published.store(next, std::memory_order_release);
        if (next % column.page_items == 0) seal_page(index);
    }
}

void Producer::seal_page(std::size_t index) {
    auto& progress = progress_[index];
    auto const count = progress.written - progress.sealed;
    if (count == 0) return;
    SealedPage const page{index, progress.sealed, count, cluster_.first_row, progress.sum};
    if (cluster_bytes_ > 0 && columns()[index].role == model::Column::Role::lengths) {
        progress.sum += sum_of({staging_->item(index, page.first), count * columns()[index].item_bytes()});
    }
    progress.sealed = progress.written;
    sealer_->seal(page, while_waiting_);
}

void Producer::begin_unit() {
    check_usable();
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
    if (cluster_bytes_ > 0 && cluster_.bytes >= cluster_bytes_) {
        end_cluster();
        unit_.cluster_bytes = 0;
    }
}

// Nothing of the unit is in a page: its rows are still where nobody but us looks.
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
    }
    rows_ = unit_.first_row;
    cluster_.bytes = unit_.cluster_bytes;
    torn_ = false;
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

void Producer::finish() {
    if (finished_) return;
    if (fork_generation_ != base::fork_generation()) check_usable();
    finished_ = true;
    // Also after an error: what is in staging stays there for the committer, and the error is the caller's.
    struct GiveUpSlot {
        Producer& producer;
        ~GiveUpSlot() { producer.give_up_slot(); }
    } const give_up{*this};
    bool const has_page = std::ranges::any_of(progress_, [](auto const& column) { return column.sealed > 0; });
    if (!torn_ && (has_page || cluster_.bytes >= kLeastClusterBytes)) end_cluster();
    sealer_->drain(nullptr);
}

// Rotation: the rows so far stay in the old file (those that fill no page reach it through the committer), the next
// one begins the new file. So no record is lost or doubled at the seam.
void Producer::follow_rotation() {
    if (run_->ledger->head().has_next.load(std::memory_order_acquire) == 0) return;
    std::string const next = run_->ledger->head().next_ledger;
    auto const seal_threads = run_->options.seal_threads;
    finish();
    auto const rows = rows_before_ + rows_;
    start(attach(next, seal_threads));
    rows_before_ = rows;
    finished_ = false;
}

} // namespace thalweg::dataset
