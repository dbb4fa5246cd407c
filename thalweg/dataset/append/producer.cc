#include "thalweg/dataset/append/producer.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/append/row_slices.h"
#include "thalweg/dataset/append/sealer.h"
#include "thalweg/dataset/append/staging_memory.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/run/backoff.h"

namespace thalweg::dataset {
namespace {

// Fewer raw bytes are not worth a cluster when a producer ends that never filled a page: the committer journals them,
// and they share one with the rest of other producers when the file is completed. A cluster takes kilobytes of metadata
// and padding.
constexpr std::uint64_t kLeastClusterBytes = 64 << 10;

} // namespace

Producer::Producer(std::shared_ptr<OpenRun> run, std::size_t table, bool of_units)
    : table_(table), of_units_(of_units), fork_generation_(base::fork_generation()) {
    if (!of_units && run->head.keys_per_group > 0) {
        base::fail_usage({run->path() + " has no producers outside of work units", "its rows are in the order of keys",
                          "append to a work unit"});
    }
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
    static_cast<void>(give_up_slot());
}

void Producer::abandon(std::string_view reason) noexcept {
    if (finished_ || !run_ || fork_generation_ != base::fork_generation()) return;
    finished_ = true;
    staging_->set_abandoned(reason);
    static_cast<void>(give_up_slot());
}

bool Producer::give_up_slot() {
    sealer_.reset(); // waits for writes in flight, so that nothing is written after the slot is given up
    if (memory_) memory_->give_back(true);
    memory_.reset();
    auto& slot = run_->ledger->slot(slot_);
    return slot.number == number_ && slot.change(SlotState::active, SlotState::finished);
}

void Producer::fail_taken_over() const {
    base::fail_system(
        {fmt::format("table '{}' of {} takes no more rows from this producer", table().name, run_->path()),
         "the committer took this process for dead and has taken over its rows"});
}

void Producer::start(std::shared_ptr<OpenRun> run) {
    run->ledger->check_alive();
    auto const index = take_slot(*run);
    auto& slot = run->ledger->slot(index);
    try {
        prepare(*run, index);
    } catch (...) {
        slot.change(SlotState::attaching, SlotState::settled); // nothing will come: the committer need not wait for it
        throw;
    }
    run_ = std::move(run);
    slot_ = index;
    number_ = slot.number;
    if (!slot.change(SlotState::attaching, SlotState::active)) fail_taken_over();
}

// Some slots may belong to producers that have ended: the committer will free those, and their memory is used again.
std::size_t Producer::take_slot(OpenRun& run) const {
    auto& ledger = *run.ledger;
    Backoff backoff;
    while (true) {
        if (auto const slot = ledger.take_slot(table_, run.options.staging.memory_bytes)) return *slot;
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
        if (run.while_waiting) run.while_waiting();
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
    auto const plan = plan_staging(columns, layout, options);
    auto memory = run.ledger->make_staging(slot, plan.memory_size());
    auto staging = std::make_unique<Staging>(Staging::format(std::move(memory), columns, layout, options, of_units_));
    sealer_.reset(); // of the file before: it uses the memory
    memory_ = std::make_unique<StagingMemory>(*staging, columns, layout, options);
    if (auto const need = memory_->need_beyond_budget()) {
        staging->head().needed_bytes = need->bytes;
        staging->head().needed_by = need->producers;
    }
    sealer_ = std::make_unique<Sealer>(run, *staging, *memory_, table_, run.ledger->slot(slot).number);
    staging_ = std::move(staging);
    progress_.assign(columns.size(), {});
    cluster_ = {};
    unit_ = {};
    cluster_bytes_ = layout.cluster_bytes;
    fixed_cuts_ = layout.fixed_cuts;
    rows_ = 0;
    rows_per_batch_ = memory_->is_shared() ? std::numeric_limits<std::uint64_t>::max() : layout.block_rows;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (!columns[i].parent && !memory_->is_shared())
            rows_per_batch_ = std::min(rows_per_batch_, layout.columns[i].page_items);
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
    if (slot.number != number_ || slot.state != SlotState::active) fail_taken_over();
}

void Producer::append(std::uint64_t rows, std::span<std::span<std::byte const> const> data) {
    check_usable();
    if (data.size() != columns().size()) {
        base::fail_usage({fmt::format("table '{}': {} columns were given", table().name, data.size()),
                          fmt::format("it has {}", columns().size())});
    }
    std::vector<std::uint64_t> inner(columns().size()); // items inside the lists of each lengths column
    std::uint64_t size_bytes = 0;
    for (std::size_t i = 0; i < columns().size(); ++i) {
        auto const& column = columns()[i];
        auto const items = column.parent ? inner[*column.parent] : rows;
        if (items > data[i].size() || data[i].size() != items * column.item_bytes()) {
            base::fail_usage(
                {fmt::format("table '{}', column '{}': {} bytes were given", table().name, column.path, data[i].size()),
                 fmt::format("{} items of {} bytes are needed", items, column.item_bytes())});
        }
        if (column.role == model::Column::Role::lengths) inner[i] = sum_of(data[i]);
        size_bytes += data[i].size();
    }
    if (!of_units_) follow_rotation(); // the others follow with their worker, between units
    RowSlices slices{columns(), {data.begin(), data.end()}};
    auto const most_rows = memory_->is_shared() ? rows_for(data, rows, most_batch_bytes()) : rows;
    auto const taken_before = this->rows();
    try {
        bool const unbuffered = has_unbuffered_pages(rows, size_bytes);
        unbuffered ? append_whole_pages(slices, rows) : append_batches(slices, rows, most_rows);
    } catch (base::SystemError const& error) {
        auto const taken = this->rows() - taken_before;
        if (!base::is_no_space(error.code) || taken == 0) throw;
        throw base::SystemError(fmt::format("{} (the first {} of these {} rows are taken)", error.what(), taken, rows),
                                error.code);
    }
}

void Producer::append_batches(RowSlices& slices, std::uint64_t rows, std::uint64_t most_rows) {
    while (rows > 0) {
        // Up to the next page of the widest column, so that rows are published page by page.
        auto batch = std::min({rows, most_rows, rows_per_batch_ - rows_ % rows_per_batch_});
        if (fixed_cuts_) batch = rows_to_cluster_end(slices, batch);
        append_batch(slices, batch);
        rows -= batch;
        bool const is_full = is_cluster_full();
        if (is_full || (!of_units_ && is_cluster_old())) end_cluster(!is_full); // of units: between two of them
        if (has_sealed_ && !memory_->is_shared()) memory_->give_back(false);    // the others do so with a cluster
        has_sealed_ = false;
    }
}

void Producer::idle() {
    check_usable();
    if (of_units_) return;
    if (is_cluster_old()) end_cluster(true);
    if (sealer_->has_ends()) static_cast<void>(sealer_->drain()); // nothing else announces them
}

void Producer::finish() {
    if (finished_) return;
    if (fork_generation_ != base::fork_generation()) check_usable();
    finished_ = true;
    // Also after an error: what is in staging stays there for the committer, and the error is the caller's.
    try {
        seal_rest();
    } catch (...) {
        static_cast<void>(give_up_slot());
        throw;
    }
    auto const& state = run_->ledger->head().state;
    bool const was_given_up = state == LedgerState::abandoned || state == LedgerState::failed; // and the creator knows
    if (!give_up_slot() && !was_given_up) fail_taken_over();
}

void Producer::seal_rest() {
    bool const has_page = std::ranges::any_of(progress_, [](auto const& column) { return column.sealed > 0; });
    if (!torn_ && (has_page || fixed_cuts_ || cluster_.bytes >= kLeastClusterBytes))
        end_cluster(cluster_.is_behind_old); // without age they would be one
    sealer_->go_on_uninterrupted();
    static_cast<void>(sealer_->drain()); // what has no room on the disk is in staging, for the committer
}

// Rotation: the rows so far stay in the old file (those that fill no page reach it through the committer), the next
// one begins the new file. So no record is lost or doubled at the seam.
void Producer::follow_rotation() {
    if (run_->ledger->head().has_next.load(std::memory_order_acquire) == 0) return;
    auto const run = run_;
    finish();
    auto const rows = rows_before_ + rows_;
    start(attach_next(*run));
    rows_before_ = rows;
    finished_ = false;
}

} // namespace thalweg::dataset
