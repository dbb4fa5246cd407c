// What a producer has published and not yet written: one segment of memory a producer, shared with the committer.
//
//   head | one ColumnState a column | ring of announcements | for each column: a ring of page buffers
//
// Item i of a column lies in page buffer (i / page_items) % buffers. The producer stores items, then the column's
// `published`, then `rows_published`; it advances `released` only when the page is written and announced. So between
// `released` and `published` every item is here, whoever dies.
//
// Where rows count in work units only, those behind `rows_committed` are the tail: of a unit that is open. To commit
// it, the worker stores the unit's entry in `unit_entry` of all its producers, takes the key (unit_table.h), and only
// then moves `committed` and `rows_committed`, announces the unit, and clears `unit_entry`.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/memory.h"
#include "thalweg/dataset/journal/journal_format.h"
#include "thalweg/model/column.h"
#include "thalweg/model/layout.h"
#include "thalweg/tuning/options.h"

namespace thalweg::dataset {

// Counted by the producer, read by anybody.
enum class Count : std::uint32_t {
    appended_bytes, // raw
    stored_bytes,   // in pages, announced
    paged_bytes,    // the same pages, raw
    pages,
    append_wait_ns, // blocked: no free staging, no claimable space, ring full
    encode_ns,
    count_
};

// What a source counts beside its rows: its name says what it means.
struct NamedCounter {
    char name[24]; // set once, before the counter is used
    std::atomic<std::uint64_t> value;
};
inline constexpr std::size_t kNamedCounters = 8;

struct ColumnState {
    std::atomic<std::uint64_t> published; // items
    std::atomic<std::uint64_t> released;  // items
    std::atomic<std::uint64_t> committed; // items of committed units; unused where all rows count
    std::uint64_t page_items;
    std::uint64_t item_bytes;
    std::uint64_t buffer_bytes; // distance between page buffers: a multiple of base::kBlockBytes
    std::uint64_t buffers;
    std::uint64_t data_offset; // in the segment
};

struct StagingHead {
    char magic[8];
    std::uint32_t columns;
    std::uint32_t ring_size; // a power of two
    std::uint64_t ring_offset;
    std::uint64_t size_bytes;
    std::uint32_t of_units; // 1: rows count in work units only
    alignas(64) std::atomic<std::uint64_t> rows_published;
    std::atomic<std::uint64_t> rows_committed;
    std::atomic<std::uint32_t> unit_entry; // being committed; 0: none
    std::uint32_t unit_part;               // of that unit, that this producer has
    std::uint64_t unit_first_row;
    char abandoned[256];                     // why, ended by a zero; set before the next
    std::atomic<std::uint32_t> is_abandoned; // 1: its worker ended on an exception
    std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Count::count_)> counts;
    std::array<NamedCounter, kNamedCounters> named;
    alignas(64) std::atomic<std::uint64_t> ring_head; // next to be written, by the producer
    alignas(64) std::atomic<std::uint64_t> ring_tail; // next to be read, by the committer
};

using tuning::StagingOptions;

std::size_t staging_size_bytes(std::vector<model::Column> const& columns, model::TableLayout const& layout,
                               StagingOptions const& options);

// Both sides' view of the segment.
class Staging {
  public:
    // Formats fresh memory.
    static Staging format(std::shared_ptr<base::SharedMemory> memory, std::vector<model::Column> const& columns,
                          model::TableLayout const& layout, StagingOptions const& options, bool of_units = false);
    // Throws base::DataError where the segment is not a whole staging of such a table.
    static Staging open(std::shared_ptr<base::SharedMemory> memory, std::vector<model::Column> const& columns,
                        model::TableLayout const& layout);

    StagingHead& head() const { return *head_; }
    ColumnState& column(std::size_t index) const { return columns_[index]; }
    std::size_t columns() const { return head_->columns; }
    std::atomic<std::uint64_t>& count(Count which) const { return head_->counts[static_cast<std::size_t>(which)]; }
    void add(Count which, std::uint64_t amount) const { count(which).fetch_add(amount, std::memory_order_relaxed); }
    // The counter of that name, made when it is first asked for. Throws base::UsageError where there are too many.
    std::atomic<std::uint64_t>& named_counter(std::string_view name) const;

    // The producer's worker ended on an exception, whose text is cut to what has room here.
    void set_abandoned(std::string_view reason) const;
    // Nothing where it was not; UTF-8.
    std::optional<std::string> abandoned() const;

    // Rows, and items of a column, that count whatever becomes of the producer.
    std::uint64_t rows_counted() const;
    std::uint64_t items_counted(std::size_t column) const;

    std::byte* item(std::size_t column, std::uint64_t index) const;

    // Producer's side. False when the ring is full.
    bool announce(PageRecord const& record) const;
    // Committer's side: appends what is on the ring to `records`, and leaves it there until it is in the journal.
    void read_announcements(std::vector<PageRecord>& records) const;
    void drop_announcements(std::size_t count) const;

    // A copy of items [first, first + count), or nothing if the producer reused a buffer meanwhile.
    std::optional<std::vector<std::byte>> copy_items(std::size_t column, std::uint64_t first,
                                                     std::uint64_t count) const;

  private:
    explicit Staging(std::shared_ptr<base::SharedMemory> memory);

    std::shared_ptr<base::SharedMemory> memory_;
    StagingHead* head_;
    ColumnState* columns_;
    PageRecord* ring_;
};

} // namespace thalweg::dataset
