// The producer's side of the blocks in its staging: which are free, and where the next bytes of a column go.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/append/memory_budget.h"
#include "thalweg/dataset/run/staging.h"

namespace thalweg::dataset {

// Columns with blocks of their own have them all from the beginning. Of shared blocks those that a producer cannot do
// without are there from the beginning, and stay; more are allocated as columns need them, as far as the memory budget
// of the process allows it. Used by the thread that appends; `release` by any.
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

    // The page that is being filled begins with the byte at `end`; its first block, once it has any bytes.
    void begin_page(std::size_t column);
    std::uint32_t page_block(std::size_t column) const { return tails_[column].page_block; }
    // Bytes in front of `end` of a column are not needed any more.
    void release(std::size_t column, std::uint64_t end);

    // Of shared blocks: in those with bytes of pages that are not sealed; and the most that these may be.
    std::uint64_t open_bytes() const { return open_blocks_ * block_bytes_; }
    std::uint64_t most_bytes() const;
    // Gives back what is free, where other producers wait for their part, or all of it.
    void give_back(bool everything);

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

    std::vector<std::uint32_t>& free_of(std::size_t column) THALWEG_REQUIRES(mutex_) {
        return shared_ ? free_[0] : free_[column];
    }
    bool grow(std::uint64_t blocks) THALWEG_REQUIRES(mutex_);
    void allocate(std::uint64_t blocks) THALWEG_REQUIRES(mutex_);
    void allocate_run(std::uint32_t first, std::uint64_t blocks) THALWEG_REQUIRES(mutex_);
    void set_first(std::size_t column, std::uint32_t block);

    Staging const& staging_;
    bool shared_;
    std::uint64_t block_bytes_;
    std::uint64_t permanent_ = 0; // of shared blocks: so many are never given back
    MemoryShare share_;
    std::vector<Tail> tails_; // by column
    std::uint64_t open_blocks_ = 0;

    base::Mutex mutex_;                                                       // and for the chains in shared memory
    std::vector<Chain> chains_ THALWEG_GUARDED_BY(mutex_);                    // by column
    std::vector<std::vector<std::uint32_t>> free_ THALWEG_GUARDED_BY(mutex_); // by column, or one for all
    std::vector<std::uint32_t> unallocated_ THALWEG_GUARDED_BY(mutex_);       // given back
    std::uint64_t fresh_ THALWEG_GUARDED_BY(mutex_) = 0; // no block from here on was ever allocated
    std::atomic<bool> is_full_ = false;                  // there was no memory for another one
};

} // namespace thalweg::dataset
