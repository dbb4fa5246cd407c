// What a producer has published and not yet written: one segment of memory a producer, shared with the committer.
//
//   head | one ColumnState a column | ring of announcements | one BlockState a block | blocks
//
// The bytes of a column lie in blocks, chained from the oldest one on; only the producer's side knows which blocks are
// free (staging_memory.h). The producer stores items, then the column's `published`, then `rows_published`; it advances
// `released` only when the page is written and announced, and uses blocks again only behind that. So between `released`
// and `published` every item is here, whichever process dies.
//
// If rows count in work units only, those behind `rows_committed` are the tail: of a unit that is open. To commit
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

// The producer counts these, and any process may read them.
enum class Count : std::uint32_t {
    appended_bytes, // raw
    stored_bytes,   // in pages, announced
    paged_bytes,    // the same pages, raw
    pages,
    append_wait_ns, // blocked: no free staging, no claimable space, ring full
    encode_ns,
    count_
};

using Counts = std::array<std::uint64_t, static_cast<std::size_t>(Count::count_)>; // by Count

// What a source counts beside its rows: its name says what it means.
struct NamedCounter {
    char name[24]; // set once, before the counter is used
    std::atomic<std::uint64_t> value;
};
inline constexpr std::size_t kNamedCounters = 24;

struct ColumnState {
    std::atomic<std::uint64_t> published; // items
    std::atomic<std::uint64_t> released;  // items
    std::atomic<std::uint64_t> committed; // items of committed units; unused where all rows count
    // The oldest of its blocks, or kNoBlock, in the lower half; in the upper one, how often it changed.
    std::atomic<std::uint64_t> chain;
    std::uint64_t page_items; // of a full page
    std::uint64_t item_bytes;
    std::uint64_t block_bytes; // a multiple of base::kBlockBytes
    // The blocks it may have: its own, or those that columns share. Where the first one lies in the segment, and where
    // the others do, one behind the other.
    std::uint64_t first_block;
    std::uint64_t blocks;
    std::uint64_t first_offset;
    std::uint64_t data_offset;
};

inline constexpr std::uint32_t kNoBlock = 0xffffffff;

struct BlockState {
    std::atomic<std::uint64_t> begin; // of its bytes, in all bytes of its column from item 0 on
    std::atomic<std::uint32_t> next;  // or kNoBlock
    std::uint32_t reserved;
};
static_assert(sizeof(BlockState) == 16);

struct StagingHead {
    char magic[8];
    std::uint32_t columns;
    std::uint32_t ring_size; // a power of two
    std::uint64_t ring_offset;
    std::uint64_t size_bytes;
    std::uint32_t of_units;      // 1: rows count in work units only
    std::uint64_t blocks_offset; // of the BlockStates
    std::uint64_t blocks;
    std::atomic<std::uint64_t> allocated_bytes; // of page buffers
    // What the producers of the process cannot do without, where that was more than their budget when this one began.
    std::atomic<std::uint64_t> needed_bytes;
    std::atomic<std::uint64_t> needed_by; // so many producers
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

// How a segment is laid out.
struct StagingPlan {
    struct ColumnBlocks {
        std::uint64_t block_bytes = 0;
        std::uint64_t first_block = 0;
        std::uint64_t blocks = 0;
        std::uint64_t first_offset = 0;
        std::uint64_t data_offset = 0; // of the others
    };

    bool shared = false; // the blocks, by all columns
    std::vector<ColumnBlocks> columns;
    std::uint64_t blocks = 0;
    std::uint64_t blocks_offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t begin_bytes = 0; // to be allocated at the beginning; more with the blocks that are used
    std::uint64_t least_bytes = 0; // of the blocks: what a producer cannot do without

    base::MemorySize memory_size() const { return {size_bytes, begin_bytes}; }
};

StagingPlan plan_staging(std::vector<model::Column> const& columns, model::TableLayout const& layout,
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

    BlockState& block(std::uint64_t index) const { return blocks_[index]; }
    // Returns the offset of the block in the segment. The block is one of the column's.
    static std::uint64_t offset_of(ColumnState const& column, std::uint64_t block) {
        if (block == column.first_block) return column.first_offset;
        return column.data_offset + (block - column.first_block - 1) * column.block_bytes;
    }
    std::byte* data(ColumnState const& column, std::uint64_t block) const {
        return memory_->data() + offset_of(column, block);
    }
    base::SharedMemory const& memory() const { return *memory_; }

    // The pieces of memory in which bytes [begin, begin + size) of a column lie, of which `block` holds the first one.
    // False where the chain does not hold them: the blocks were used again meanwhile.
    bool pieces(std::size_t column, std::uint32_t block, std::uint64_t begin, std::uint64_t size_bytes,
                std::vector<std::span<std::byte const>>& pieces) const;

    // Returns which part is used of the memory for items that are in no announced page; of the fullest column if each
    // has its own.
    double fill() const;

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

    void set_tables();
    bool try_copy(ColumnState const& column, std::uint64_t first, std::span<std::byte> to) const;

    std::shared_ptr<base::SharedMemory> memory_;
    StagingHead* head_;
    ColumnState* columns_;
    PageRecord* ring_ = nullptr;
    BlockState* blocks_ = nullptr;
};

} // namespace thalweg::dataset
