// How a producer's rows come into its page buffers, and where pages and clusters end.
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/append/row_slices.h"
#include "thalweg/dataset/append/sealer.h"
#include "thalweg/dataset/append/staging_memory.h"
#include "thalweg/trace/activity.h"

namespace thalweg::dataset {

// Pages of all columns are in memory together until the cluster ends: it ends when they have used their part of it.
bool Producer::is_cluster_full() const {
    if (cluster_bytes_ == 0) return false;
    if (fixed_cuts_) return cluster_.bytes >= cluster_bytes_;
    if (memory_->open_bytes() >= memory_->most_bytes() / 4 * 3) return true;
    return cluster_.bytes >= (of_units_ ? 2 * cluster_bytes_ : cluster_bytes_); // a unit ends it where it can
}

// In a run that is ordered by key, clusters do not depend on when rows came.
bool Producer::is_cluster_old() const {
    auto const old_before_ns = run_->ledger->head().old_before_ns.load(std::memory_order_relaxed);
    return cluster_bytes_ > 0 && !fixed_cuts_ && cluster_.bytes > 0 && cluster_.begun_ns < old_before_ns;
}

// Returns how many of the next `rows` come up to the one with which the cluster is full.
std::uint64_t Producer::rows_to_cluster_end(RowSlices const& slices, std::uint64_t rows) const {
    auto const fills = [&](std::uint64_t some) { return cluster_.bytes + slices.bytes_of(some) >= cluster_bytes_; };
    if (!fills(rows)) return rows;
    std::uint64_t least = 1;
    while (least < rows) {
        auto const middle = least + (rows - least) / 2;
        fills(middle) ? rows = middle : least = middle + 1;
    }
    return rows;
}

// So much that what is left of the memory when a cluster must end has room for it.
std::uint64_t Producer::most_batch_bytes() const {
    auto const bytes = memory_->most_bytes() / 16;
    return cluster_bytes_ == 0 ? bytes : std::min(bytes, std::max<std::uint64_t>(1, cluster_bytes_ / 4));
}

void Producer::end_cluster(bool by_age) {
    THALWEG_ASSERT(cluster_.first_row <= rows_, "a cluster ends behind its first row");
    if (cluster_bytes_ == 0 || cluster_.first_row == rows_) return;
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        seal_page(i);
        progress_[i].sum = 0;
        if (!memory_->is_cut_by_page(i)) memory_->cut(i);
    }
    memory_->give_back(false);
    sealer_->end_cluster(cluster_.first_row, rows_ - cluster_.first_row, by_age);
    cluster_ = {rows_, 0, 0, by_age};
}

bool Producer::has_whole_rows() const {
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        if (!columns()[i].parent && progress_[i].written != rows_) return false;
    }
    return true;
}

// For callers that need all in the file.
void Producer::drain() {
    while (!sealer_->drain()) run_->ledger->check_room();
}

void Producer::append_batch(RowSlices& slices, std::uint64_t rows) {
    std::vector<std::span<std::byte const>> parts;
    for (std::size_t i = 0; i < columns().size(); ++i) {
        auto const& parent = columns()[i].parent;
        parts.push_back(slices.take(i, parent ? sum_of(parts[*parent]) : rows));
    }
    if (!run_->ledger->has_room()) run_->ledger->check_room();
    // All columns first: an interrupt that comes while we wait then finds no row half copied.
    wait_for_room(parts);
    torn_ = true;
    std::uint64_t bytes = 0, items_before = 0;
    std::size_t column = 0;
    try {
        for (; column < columns().size(); ++column) {
            items_before = progress_[column].written;
            copy_items(column, parts[column]);
            bytes += parts[column].size();
        }
    } catch (...) {
        publish_whole_rows_of(parts, rows, column, progress_[column].written - items_before);
        throw;
    }
    torn_ = false;
    rows_ += rows;
    THALWEG_ASSERT_COSTLY(has_whole_rows(), "between two batches all columns have the same rows");
    if (cluster_.bytes == 0) cluster_.begun_ns = run_->ledger->head().heartbeat_ns.load(std::memory_order_relaxed);
    cluster_.bytes += bytes;
    staging_->head().rows_published.store(rows_, std::memory_order_release);
    // Only this producer counts these, so no locked addition, which would wait until the copy has reached the cache.
    auto& appended_bytes = staging_->count(Count::appended_bytes);
    appended_bytes.store(appended_bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

// An error ended a batch in the middle. Readers count rows that are whole in the journal, so this producer counts those
// that are whole, and `rows()` tells the caller of them. `column` has so many items, and those behind it have none.
void Producer::publish_whole_rows_of(std::span<std::span<std::byte const> const> parts, std::uint64_t rows,
                                     std::size_t column, std::uint64_t items) {
    if (of_units_) return; // the unit is dropped
    std::vector<std::uint64_t> there(columns().size()), used(columns().size()), next(columns().size());
    for (std::size_t i = 0; i <= column; ++i)
        there[i] = i < column ? parts[i].size() / columns()[i].item_bytes() : items;
    for (std::uint64_t whole = 0; whole < rows; ++whole) {
        for (std::size_t i = 0; i < columns().size(); ++i) {
            auto const& parent = columns()[i].parent;
            auto const lengths = parent ? parts[*parent].subspan(used[*parent] * sizeof(std::uint64_t),
                                                                 next[*parent] * sizeof(std::uint64_t))
                                        : std::span<std::byte const>();
            next[i] = parent ? sum_of(lengths) : 1;
            if (used[i] + next[i] > there[i]) return;
        }
        for (std::size_t i = 0; i < columns().size(); ++i) used[i] += next[i];
        staging_->head().rows_published.store(++rows_, std::memory_order_release);
    }
}

// Blocks that the column takes for so many more bytes, at most.
std::uint64_t Producer::blocks_for(std::size_t index, std::uint64_t size_bytes) const {
    auto const& column = staging_->column(index);
    auto const room = memory_->room(index).size();
    if (!memory_->is_cut_by_page(index)) {
        return size_bytes <= room ? 0 : (size_bytes - room + column.block_bytes - 1) / column.block_bytes;
    }
    auto const page_bytes = column.page_items * column.item_bytes;
    auto const rest = room == 0 ? 0 : page_bytes - (memory_->end(index) - progress_[index].sealed * column.item_bytes);
    return size_bytes <= rest ? 0 : (size_bytes - rest + page_bytes - 1) / page_bytes;
}

template <class HasRoom> void Producer::wait_until(HasRoom const& has_room) {
    if (has_room()) return;
    trace::Traced traced(trace::Activity::wait_for_memory, run_->path().c_str(), 0);
    auto const begin_ns = base::monotonic_ns();
    while (!has_room()) {
        run_->ledger->check_alive();
        // All memory is in pages that are being filled: rows of this size take more than there is.
        bool const stuck = memory_->is_shared() && nothing_in_flight();
        if (stuck && fixed_cuts_) {
            base::fail_usage({fmt::format("table '{}' of {}: pages of the sizes that were fixed have no room",
                                          table().name, run_->path()),
                              fmt::format("its memory of {} bytes is full", memory_->most_bytes()),
                              "raise memory_bytes, or create the file with smaller pages"});
        }
        for (std::size_t i = 0; stuck && i < progress_.size(); ++i) {
            bool const in_item = memory_->end(i) % staging_->column(i).item_bytes != 0;
            if (!in_item) seal_page(i);
        }
        sealer_->make_progress();
    }
    staging_->add(Count::append_wait_ns, base::monotonic_ns() - begin_ns);
    traced.set_result(0);
}

bool Producer::nothing_in_flight() const {
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        if (staging_->column(i).released.load(std::memory_order_acquire) != progress_[i].sealed) return false;
    }
    return true;
}

// More than fits at once waits again in copy_items, block by block.
void Producer::wait_for_room(std::span<std::span<std::byte const> const> parts) {
    blocks_wanted_.assign(parts.size(), 0);
    std::uint64_t together = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        auto const blocks = parts[i].empty() ? 0 : blocks_for(i, parts[i].size());
        if (blocks == 0) continue;
        blocks_wanted_[i] = std::min(blocks, memory_->most_blocks(i));
        together += blocks_wanted_[i];
    }
    if (together == 0) return;
    if (memory_->is_shared() && together > memory_->most_blocks(0)) blocks_wanted_.assign(parts.size(), 0);
    // If a budget is short, columns with blocks of their own may never have all of these at once: each has one in
    // the end, once nothing is on its way to the disk.
    wait_until([&] { return memory_->has_blocks(blocks_wanted_) || (!memory_->is_shared() && nothing_in_flight()); });
}

void Producer::copy_items(std::size_t index, std::span<std::byte const> bytes) {
    auto& column = staging_->column(index);
    auto& progress = progress_[index];
    while (!bytes.empty()) {
        if (memory_->room(index).empty()) wait_until([&] { return memory_->extend(index); });
        auto const room = memory_->room(index);
        auto const page_end = (progress.sealed + column.page_items) * column.item_bytes;
        auto const size = std::min({bytes.size(), room.size(), page_end - memory_->end(index)});
        std::memcpy(room.data(), bytes.data(), size);
        memory_->advance(index, size);
        bytes = bytes.subspan(size);
        progress.written = memory_->end(index) / column.item_bytes;
        column.published.store(progress.written, std::memory_order_release);
        if (progress.written - progress.sealed == column.page_items) seal_page(index);
    }
}

void Producer::seal_page(std::size_t index) {
    auto& progress = progress_[index];
    THALWEG_ASSERT(progress.sealed <= progress.written, "what is sealed was written before");
    auto const count = progress.written - progress.sealed;
    if (count == 0) return;
    auto const item_bytes = staging_->column(index).item_bytes;
    SealedPage const page{index, progress.sealed, count, cluster_.first_row, memory_->page_block(index), progress.sum};
    if (cluster_bytes_ > 0 && columns()[index].role == model::Column::Role::lengths) {
        std::vector<std::span<std::byte const>> pieces;
        staging_->pieces(index, page.block, page.first * item_bytes, count * item_bytes, pieces);
        for (auto const& piece : pieces) progress.sum += sum_of(piece);
    }
    progress.sealed = progress.written;
    has_sealed_ = true;
    memory_->is_cut_by_page(index) ? memory_->cut(index) : memory_->begin_page(index);
    sealer_->seal(page);
}

} // namespace thalweg::dataset
