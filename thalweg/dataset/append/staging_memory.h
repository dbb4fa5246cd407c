// The producer's side of the blocks in its staging: which are free, and where the next bytes of a column go.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/append/memory_budget.h"
#include "thalweg/dataset/run/staging.h"

namespace thalweg::dataset {

// Blocks that a producer cannot do without are there from the beginning, and stay: one of each column that has blocks
// of its own. More are allocated as columns need them, as far as the memory budget of the process allows it. Used by
// the thread that appends; `release` by any.
class StagingMemory {
  public:
    StagingMemory(Staging const& staging, std::vector<model::Column> const& columns, model::TableLayout const& layout,
                  StagingOptions const& options);

    bool is_shared() const { return shared_; }

    // Behind the last byte of the column, in its last block; empty where that is full.
    std::span<std::byte> room(std::size_t column) const;
    void advance(std::size_t column, std::size_t size_bytes) { tails_[column].end += size_bytes; }
    std::uint64_t end(std::size_t column) const { return tails_[column].end; }
    // The next byte of the column begins a page, and a block, so that the page may lie in one piece.
    void cut(std::size_t column);
    // So many bytes of the column come that are in none of its blocks. What follows begins a block.
    void skip(std::size_t column, std::uint64_t size_bytes);
    // Whether whole pages do so.
    bool is_cut_by_page(std::size_t column) const;

    // Forgets the bytes from `end` on, which are in no page.
    void truncate(std::size_t column, std::uint64_t end);

    // Another block for the column. False where none is free now.
    bool extend(std::size_t column);
    // Whether so many more blocks can be had now: by each column, of its own or of the shared ones.
    bool has_blocks(std::span<std::uint64_t const> by_column);
    // At most so many can ever be had at once, half of what there is left for others.
    std::uint64_t most_blocks(std::size_t column) const;

    // Returns whether most blocks of the column that grew last lie in huge pages, as far as whole ones are allocated.
    // Any thread may ask.
    bool is_in_huge_pages() const { return in_huge_pages_.load(std::memory_order_relaxed); }

    // The page that is being filled begins with the byte at `end`; its first block, once it has any bytes.
    void begin_page(std::size_t column);
    std::uint32_t page_block(std::size_t column) const { return tails_[column].page_block; }
    // Bytes in front of `end` of a column are not needed any more.
    void release(std::size_t column, std::uint64_t end);

    // Returns the size of those shared blocks that have bytes of pages that are not sealed.
    std::uint64_t open_bytes() const { return open_blocks_ * pools_[0].block_bytes; }
    // Returns how much all blocks may have at present.
    std::uint64_t most_bytes() const;
    // Gives back what is free if other producers wait for their part, or all of it.
    void give_back(bool everything);
    // Returns what the producers of the process cannot do without, if that is more than their budget.
    std::optional<MemoryShare::Need> need_beyond_budget() const { return share_.need_beyond_budget(); }

  private:
    struct Tail {
        std::uint64_t end = 0;   // bytes so far
        std::uint64_t begin = 0; // of the block
        std::uint32_t block = kNoBlock;
        std::uint32_t page_block = kNoBlock;
        std::uint32_t open_blocks = 0;
    };

    struct Chain {
        std::uint32_t last = kNoBlock;
        std::uint64_t cut_at = 0; // no byte from here on will be in the last block; kOpen: some will
    };

    // The blocks of a column, or of all.
    struct Pool {
        std::size_t column = 0; // one that may have them
        std::uint64_t block_bytes = 0;
        std::uint64_t begin = 0;
        std::uint64_t permanent = 0; // so many blocks from there on are never given back
        std::uint64_t blocks = 0;
        std::uint64_t fresh = 0; // no block from here on was ever allocated
        // The end of the bytes of the segment that were moved into huge pages, and the offsets of those in front of it
        // that were busy: these are tried again.
        std::uint64_t huge_end = 0;
        std::vector<std::uint64_t> busy;
        std::vector<std::uint32_t> free;
        std::vector<std::uint32_t> unallocated; // given back

        std::uint64_t allocated() const { return fresh - begin - unallocated.size(); }
    };

    Pool& pool_of(std::size_t column) { return pools_[shared_ ? 0 : column]; }
    std::uint64_t most_blocks(Pool const& pool) const;
    std::uint64_t room_to_grow(Pool const& pool) const THALWEG_REQUIRES(mutex_);
    std::uint64_t step_bytes() const;
    bool grow(Pool& pool, std::uint64_t blocks) THALWEG_REQUIRES(mutex_);
    bool grow_all(std::span<std::uint64_t const> by_column) THALWEG_REQUIRES(mutex_);
    bool allocate(Pool& pool, std::uint64_t blocks) THALWEG_REQUIRES(mutex_);
    void allocate_runs(Pool& pool, std::uint64_t blocks) THALWEG_REQUIRES(mutex_);
    void allocate_run(Pool& pool, std::uint32_t first, std::uint64_t blocks) THALWEG_REQUIRES(mutex_);
    void move_into_huge_pages(Pool& pool) THALWEG_REQUIRES(mutex_);
    bool move_into_huge_page(std::uint64_t offset) THALWEG_REQUIRES(mutex_);
    std::uint64_t give_back(Pool& pool, std::uint64_t bytes) THALWEG_REQUIRES(mutex_);
    void set_first(std::size_t column, std::uint32_t block);

    Staging const& staging_;
    bool shared_;
    std::uint64_t all_blocks_bytes_ = 0; // that there may ever be
    MemoryShare share_;
    std::vector<Tail> tails_; // by column
    std::uint64_t open_blocks_ = 0;

    base::Mutex mutex_;                                    // for these, and for the chains in shared memory
    std::vector<Chain> chains_ THALWEG_GUARDED_BY(mutex_); // by column
    std::vector<Pool> pools_;                              // by column, or one for all: their blocks under the mutex
    std::atomic<bool> is_full_ = false;                    // there was no memory for another one
    std::atomic<bool> in_huge_pages_ = false;
    bool has_no_huge_pages_ THALWEG_GUARDED_BY(mutex_) = false; // the system has refused them
};

} // namespace thalweg::dataset
