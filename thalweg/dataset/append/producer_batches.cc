// Whole pages of large batches, which are encoded from the caller's memory.
//
// Such a page is never in the page buffers: until it is in the file and announced, its rows are not published. So a
// batch ends with a wait for its writes, and what `append` has taken survives this process.
//
// Readers count rows that are whole in the journal, and these may be more than the published ones until the batch ends.
// What they have seen must stay. If something fails in the middle, this producer publishes what is whole and ends
// there; another one, with a new number, takes its place. If the process dies, what is whole in the journal counts
// (complete/part_builder.cc, docs/decisions/0117).
#include <algorithm>
#include <limits>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/append/row_slices.h"
#include "thalweg/dataset/append/sealer.h"
#include "thalweg/dataset/append/staging_memory.h"
#include "thalweg/trace/activity.h"

namespace thalweg::dataset {
namespace {

// After so much of a batch its rows are published. More than one wait costs little then, and an error that comes later
// does not cost the rows in front.
constexpr std::uint64_t kPublishedTogetherBytes = 64 * base::kMiB;

} // namespace

// Returns the items of a column that come until its open page is full.
std::uint64_t Producer::items_to_page_end(std::size_t index) const {
    auto const& progress = progress_[index];
    auto const open = progress.written - progress.sealed;
    return open == 0 ? 0 : staging_->column(index).page_items - open;
}

// Returns how many of `rows` rows are in whole pages of a column: none if they do not fill one.
std::uint64_t Producer::items_in_whole_pages(std::size_t index, std::uint64_t rows) const {
    auto const in_front = items_to_page_end(index);
    auto const page_items = staging_->column(index).page_items;
    return rows < in_front ? 0 : (rows - in_front) / page_items * page_items;
}

// Threads of a sealer need the pages in memory that stays as it is; so do units, whose pages may have to be forgotten.
bool Producer::has_unbuffered_pages(std::uint64_t rows, std::uint64_t size_bytes) const {
    auto const least_bytes = run_->options.unbuffered_bytes;
    if (least_bytes == 0 || size_bytes < least_bytes) return false;
    if (of_units_ || cluster_bytes_ > 0 || run_->options.seal_threads > 0) return false;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < columns().size(); ++i) {
        if (columns()[i].parent || columns()[i].role == model::Column::Role::lengths) return false;
        bytes += items_in_whole_pages(i, rows) * columns()[i].item_bytes();
    }
    return bytes >= least_bytes;
}

void Producer::append_whole_pages(RowSlices& slices, std::uint64_t rows) {
    std::uint64_t row_bytes = 0;
    for (auto const& column : columns()) row_bytes += column.item_bytes();
    auto const most_rows = std::max(kPublishedTogetherBytes, run_->options.unbuffered_bytes) / row_bytes + 1;
    while (rows > 0) {
        auto const some = std::min(rows, most_rows);
        if (!has_unbuffered_pages(some, some * row_bytes)) return append_batches(slices, rows, rows);
        run_->ledger->check_room();
        try {
            append_unbuffered(slices, some);
        } catch (...) {
            keep_whole_rows();
            throw;
        }
        staging_->add(Count::appended_bytes, some * row_bytes);
        rows -= some;
    }
}

// If nothing more can be written, the producer takes no more rows, and `finish` says why.
void Producer::keep_whole_rows() {
    bool can_write = true;
    try {
        sealer_->go_on_uninterrupted();
        static_cast<void>(sealer_->drain()); // without what has no room
    } catch (base::Error const&) {
        can_write = false; // the caller hears of the first error
    }
    publish_whole_rows();
    if (!can_write) return;
    auto const taken = rows();
    finished_ = true;
    try {
        if (!give_up_slot()) return;
        start(std::shared_ptr(run_));
    } catch (base::Error const&) {
        return; // the same
    }
    rows_before_ = taken;
    finished_ = torn_ = false;
}

// Nothing of the batch that is on its way may be announced afterwards.
void Producer::publish_whole_rows() {
    auto whole = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        auto& column = staging_->column(i);
        auto const items = std::max(column.published.load(), column.released.load());
        column.published.store(items, std::memory_order_release);
        whole = std::min(whole, items);
    }
    THALWEG_ASSERT(whole >= rows_, "what was published stays whole");
    rows_ = whole;
    staging_->head().rows_published.store(rows_, std::memory_order_release);
}

void Producer::append_unbuffered(RowSlices& slices, std::uint64_t rows) {
    torn_ = true;
    std::vector<std::span<std::byte const>> rest(columns().size()); // behind the last whole page
    for (std::size_t i = 0; i < columns().size(); ++i) {
        auto const item_bytes = columns()[i].item_bytes();
        auto part = slices.take(i, rows);
        auto const whole_bytes = items_in_whole_pages(i, rows) * item_bytes;
        if (whole_bytes > 0) {
            auto const in_front_bytes = items_to_page_end(i) * item_bytes;
            copy_items(i, part.first(in_front_bytes));
            encode_pages(i, part.subspan(in_front_bytes, whole_bytes));
            part = part.subspan(in_front_bytes + whole_bytes);
        }
        rest[i] = part;
    }
    wait_for_writes();
    for (std::size_t i = 0; i < columns().size(); ++i) {
        staging_->column(i).published.store(progress_[i].written, std::memory_order_release);
        copy_items(i, rest[i]);
    }
    rows_ += rows;
    torn_ = false;
    THALWEG_ASSERT_COSTLY(has_whole_rows(), "between two batches all columns have the same rows");
    staging_->head().rows_published.store(rows_, std::memory_order_release);
    if (has_sealed_) memory_->give_back(false);
    has_sealed_ = false;
}

// Whole pages of a column that has no open one.
void Producer::encode_pages(std::size_t index, std::span<std::byte const> items) {
    auto const& column = staging_->column(index);
    auto& progress = progress_[index];
    THALWEG_ASSERT(progress.written == progress.sealed, "a page that is encoded where it lies begins a page");
    for (auto const page_bytes = column.page_items * column.item_bytes; !items.empty();
         items = items.subspan(page_bytes)) {
        memory_->skip(index, page_bytes);
        SealedPage const page{.column = index, .first = progress.written, .count = column.page_items};
        progress.written = progress.sealed = progress.written + column.page_items;
        sealer_->add_unbuffered(page, items.first(page_bytes));
    }
}

void Producer::wait_for_writes() {
    trace::Traced traced(trace::Activity::wait_for_memory, run_->path().c_str(), 0);
    auto const begin_ns = base::monotonic_ns();
    sealer_->drain_stored();
    staging_->add(Count::append_wait_ns, base::monotonic_ns() - begin_ns);
    traced.set_result(0);
}

} // namespace thalweg::dataset
