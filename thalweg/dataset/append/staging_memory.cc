#include "thalweg/dataset/append/staging_memory.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <numeric>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/huge_pages.h"
#include "thalweg/base/units.h"

namespace thalweg::dataset {
namespace {

constexpr auto kOpen = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kFirstGrowthBytes = base::kHugePageBytes;
constexpr std::uint64_t kMostGrowthBytes = 8 * base::kMiB;

std::uint64_t least_bytes(std::vector<model::Column> const& columns, model::TableLayout const& layout,
                          StagingOptions const& options) {
    return plan_staging(columns, layout, options).least_bytes;
}

} // namespace

StagingMemory::StagingMemory(Staging const& staging, std::vector<model::Column> const& columns,
                             model::TableLayout const& layout, StagingOptions const& options)
    : staging_(staging), shared_(layout.cluster_bytes > 0),
      share_(options.memory_bytes, least_bytes(columns, layout, options)), tails_(columns.size()),
      chains_(columns.size()) {
    share_.exceed(staging_.head().allocated_bytes);
    for (std::size_t i = 0; i < (shared_ ? 1 : columns.size()); ++i) {
        auto const& column = staging_.column(i);
        auto const permanent = shared_ ? staging_.head().allocated_bytes / column.block_bytes : 1;
        auto const begin = column.first_block;
        pools_.push_back({i, column.block_bytes, begin, permanent, column.blocks, begin + permanent, 0, {}, {}, {}});
        all_blocks_bytes_ += column.blocks * column.block_bytes;
        for (auto block = begin + permanent; block-- > begin;)
            pools_.back().free.push_back(static_cast<std::uint32_t>(block));
    }
}

std::span<std::byte> StagingMemory::room(std::size_t index) const {
    auto const& tail = tails_[index];
    if (tail.block == kNoBlock) return {};
    auto const& column = staging_.column(index);
    auto const used = tail.end - tail.begin;
    return {staging_.data(column, tail.block) + used, column.block_bytes - used};
}

bool StagingMemory::is_cut_by_page(std::size_t index) const {
    auto const& column = staging_.column(index);
    return column.page_items * column.item_bytes <= column.block_bytes;
}

void StagingMemory::cut(std::size_t column) {
    auto& tail = tails_[column];
    tail.block = kNoBlock;
    begin_page(column);
    base::Lock const lock(mutex_);
    chains_[column].cut_at = tail.end;
}

void StagingMemory::skip(std::size_t column, std::uint64_t size_bytes) {
    cut(column);
    tails_[column].end += size_bytes;
}

void StagingMemory::begin_page(std::size_t column) {
    auto& tail = tails_[column];
    auto const goes_on = tail.block != kNoBlock && tail.end - tail.begin < staging_.column(column).block_bytes;
    if (!goes_on) tail.block = kNoBlock;
    tail.page_block = tail.block;
    THALWEG_ASSERT(open_blocks_ >= tail.open_blocks, "open blocks are those of all columns");
    open_blocks_ -= tail.open_blocks;
    tail.open_blocks = goes_on ? 1 : 0;
    open_blocks_ += tail.open_blocks;
}

bool StagingMemory::extend(std::size_t index) {
    auto& tail = tails_[index];
    base::Lock const lock(mutex_);
    auto& pool = pool_of(index);
    if (pool.free.empty() && !grow(pool, 1)) return false;
    auto const block = pool.free.back();
    pool.free.pop_back();
    auto& state = staging_.block(block);
    state.begin.store(tail.end, std::memory_order_relaxed);
    state.next.store(kNoBlock, std::memory_order_relaxed);
    auto& chain = chains_[index];
    if (chain.last == kNoBlock)
        set_first(index, block);
    else
        staging_.block(chain.last).next.store(block, std::memory_order_release);
    chain = {block, kOpen};
    tail.block = block;
    tail.begin = tail.end;
    if (tail.page_block == kNoBlock) tail.page_block = block;
    ++tail.open_blocks;
    ++open_blocks_;
    return true;
}

void StagingMemory::set_first(std::size_t column, std::uint32_t block) {
    auto& chain = staging_.column(column).chain;
    auto const changes = (chain.load(std::memory_order_relaxed) >> 32) + 1;
    chain.store(changes << 32 | block, std::memory_order_release);
}

void StagingMemory::release(std::size_t column, std::uint64_t end) {
    base::Lock const lock(mutex_);
    auto& chain = chains_[column];
    auto first = static_cast<std::uint32_t>(staging_.column(column).chain.load(std::memory_order_relaxed));
    auto const before = first;
    auto& free = pool_of(column).free;
    auto const known = free.size();
    while (first != kNoBlock) {
        auto const next = staging_.block(first).next.load(std::memory_order_relaxed);
        auto const block_end =
            next != kNoBlock ? staging_.block(next).begin.load(std::memory_order_relaxed) : chain.cut_at;
        if (block_end > end) break;
        free.push_back(first);
        first = next;
    }
    if (first == before) return;
    if (first == kNoBlock) chain.last = kNoBlock;
    set_first(column, first);
    std::atomic_thread_fence(std::memory_order_seq_cst); // a reader of a block's new bytes sees that the chain changed
    std::reverse(free.begin() + static_cast<std::ptrdiff_t>(known), free.end()); // the oldest first, again
}

bool StagingMemory::has_blocks(std::span<std::uint64_t const> by_column) {
    base::Lock const lock(mutex_);
    if (!shared_) return grow_all(by_column);
    auto const together = std::accumulate(by_column.begin(), by_column.end(), std::uint64_t{0});
    auto& pool = pools_[0];
    return pool.free.size() >= together || grow(pool, together - pool.free.size());
}

// All of them, or none: a row is not begun that has to wait in the middle.
bool StagingMemory::grow_all(std::span<std::uint64_t const> by_column) {
    auto const missing = [&](std::size_t i) THALWEG_REQUIRES(mutex_) {
        return by_column[i] - std::min<std::uint64_t>(by_column[i], pools_[i].free.size());
    };
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < by_column.size(); ++i) {
        if (missing(i) > room_to_grow(pools_[i])) return false;
        bytes += missing(i) * pools_[i].block_bytes;
    }
    if (bytes == 0) return true;
    if (is_full_) return false;
    auto const taken = share_.take(bytes);
    share_.give(taken); // `grow` takes it, column by column
    if (taken < bytes) return false;
    for (std::size_t i = 0; i < by_column.size(); ++i) {
        if (missing(i) > 0 && !grow(pools_[i], missing(i))) return false;
    }
    return true;
}

std::uint64_t StagingMemory::most_blocks(std::size_t column) const {
    if (!shared_) return staging_.column(column).blocks - 1;
    return std::max<std::uint64_t>(1, most_bytes() / pools_[0].block_bytes / 2);
}

// If there is less memory than planned, each column has its share of that: none takes what another one waits for.
std::uint64_t StagingMemory::most_blocks(Pool const& pool) const {
    if (shared_) return pool.blocks;
    auto const share = static_cast<double>(most_bytes()) / static_cast<double>(all_blocks_bytes_);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(pool.blocks) * share));
}

std::uint64_t StagingMemory::room_to_grow(Pool const& pool) const {
    auto const most = most_blocks(pool);
    return most - std::min(most, pool.allocated());
}

// To allocate is a system call: not one for each block, nor more than a column may ever need.
std::uint64_t StagingMemory::step_bytes() const {
    return std::clamp(share_.held_bytes() / 2, kFirstGrowthBytes, kMostGrowthBytes) / pools_.size();
}

// Blocks that lie side by side are allocated together; where there is no memory the producer lives with what it has.
bool StagingMemory::grow(Pool& pool, std::uint64_t blocks) {
    auto const left = room_to_grow(pool);
    if (is_full_ || blocks > left) return false;
    auto const wanted = std::min(std::max(blocks, step_bytes() / pool.block_bytes), left);
    auto const taken = share_.take(wanted * pool.block_bytes);
    auto const whole = taken / pool.block_bytes;
    share_.give(taken - whole * pool.block_bytes);
    if (whole >= blocks) return allocate(pool, whole);
    share_.give(whole * pool.block_bytes);
    return false;
}

bool StagingMemory::allocate(Pool& pool, std::uint64_t blocks) {
    try {
        allocate_runs(pool, blocks);
        move_into_huge_pages(pool);
        return true;
    } catch (base::SystemError const& error) {
        share_.give(share_.held_bytes() - staging_.head().allocated_bytes);
        if (error.code != ENOSPC) throw;
        is_full_ = true;
        return false;
    }
}

void StagingMemory::allocate_runs(Pool& pool, std::uint64_t blocks) {
    auto& unallocated = pool.unallocated;
    std::sort(unallocated.begin(), unallocated.end(), std::greater<>());
    while (blocks > 0 && !unallocated.empty()) {
        auto const first = unallocated.back();
        std::uint64_t run = 0;
        for (; run < blocks && !unallocated.empty() && unallocated.back() == first + run; ++run) unallocated.pop_back();
        try {
            allocate_run(pool, first, run);
        } catch (base::SystemError const&) {
            for (std::uint64_t i = 0; i < run; ++i) unallocated.push_back(static_cast<std::uint32_t>(first + i));
            throw;
        }
        blocks -= run;
    }
    if (blocks == 0) return;
    allocate_run(pool, static_cast<std::uint32_t>(pool.fresh), blocks);
    pool.fresh += blocks;
}

void StagingMemory::allocate_run(Pool& pool, std::uint32_t first, std::uint64_t blocks) {
    auto const offset = Staging::offset_of(staging_.column(pool.column), first);
    staging_.memory().allocate(offset, blocks * pool.block_bytes);
    staging_.head().allocated_bytes += blocks * pool.block_bytes;
    for (auto i = blocks; i-- > 0;) pool.free.push_back(static_cast<std::uint32_t>(first + i));
}

// What is allocated as ordinary pages is moved once it makes whole huge pages without a hole, since a hole would be
// filled. The first block of a pool may lie apart from the others.
void StagingMemory::move_into_huge_pages(Pool& pool) {
    if (has_no_huge_pages_ || !pool.unallocated.empty() || pool.fresh < pool.begin + 2) return;
    auto const& column = staging_.column(pool.column);
    auto const begin = base::round_up(Staging::offset_of(column, pool.begin + 1), base::kHugePageBytes);
    auto const end =
        base::round_down(Staging::offset_of(column, pool.fresh - 1) + pool.block_bytes, base::kHugePageBytes);
    if (end <= begin) return;
    for (auto at = std::max(pool.huge_end, begin); at < end; at += base::kHugePageBytes) pool.busy.push_back(at);
    pool.huge_end = std::max(pool.huge_end, end);
    std::erase_if(pool.busy, [&](std::uint64_t at) THALWEG_REQUIRES(mutex_) { return move_into_huge_page(at); });
    in_huge_pages_ = !has_no_huge_pages_ && 2 * pool.busy.size() * base::kHugePageBytes <= end - begin;
}

// Returns false if that is to be tried again.
bool StagingMemory::move_into_huge_page(std::uint64_t offset) {
    if (has_no_huge_pages_) return true;
    auto const moved = staging_.memory().move_into_huge_pages(offset, base::kHugePageBytes);
    has_no_huge_pages_ = moved == base::HugePages::none;
    return moved != base::HugePages::busy;
}

std::uint64_t StagingMemory::most_bytes() const {
    return is_full_ ? share_.held_bytes() : std::min(share_.most_bytes(), all_blocks_bytes_);
}

void StagingMemory::give_back(bool everything) {
    base::Lock const lock(mutex_);
    auto bytes = everything ? share_.held_bytes() : share_.excess_bytes();
    if (bytes == 0) return;
    for (auto& pool : pools_) {
        auto const kept = everything || shared_ ? 0 : most_blocks(pool);
        auto const blocks = pool.allocated() - std::min(pool.allocated(), kept);
        bytes -= std::min(bytes, give_back(pool, std::min(bytes, blocks * pool.block_bytes)));
    }
}

// About so many bytes: whole blocks.
std::uint64_t StagingMemory::give_back(Pool& pool, std::uint64_t bytes) {
    auto const blocks = (bytes + pool.block_bytes - 1) / pool.block_bytes;
    auto& free = pool.free;
    if (blocks == 0 || free.empty()) return 0;
    std::sort(free.begin(), free.end());
    auto const may_go = [&] { return !free.empty() && free.back() >= pool.begin + pool.permanent; };
    std::uint64_t given = 0;
    while (given < blocks && may_go()) {
        auto first = free.back() + 1;
        std::uint64_t run = 0;
        for (; given < blocks && may_go() && free.back() + 1 == first; ++run, ++given) {
            pool.unallocated.push_back(--first);
            free.pop_back();
        }
        auto const offset = Staging::offset_of(staging_.column(pool.column), first);
        staging_.memory().give_back(offset, run * pool.block_bytes);
        pool.huge_end = std::min(pool.huge_end, base::round_down(offset, base::kHugePageBytes));
        std::erase_if(pool.busy, [&](std::uint64_t at) { return at >= pool.huge_end; });
        staging_.head().allocated_bytes -= run * pool.block_bytes;
        share_.give(run * pool.block_bytes);
    }
    std::reverse(free.begin(), free.end()); // the first ones are used first
    return given * pool.block_bytes;
}

// Pages are cut in front of it, if at all: the block that has its place goes on.
void StagingMemory::truncate(std::size_t index, std::uint64_t end) {
    auto& tail = tails_[index];
    if (tail.end == end) return;
    base::Lock const lock(mutex_);
    auto block = static_cast<std::uint32_t>(staging_.column(index).chain.load(std::memory_order_relaxed));
    auto const next_of = [&](std::uint32_t each) { return staging_.block(each).next.load(std::memory_order_relaxed); };
    auto const begin_of = [&](std::uint32_t each) {
        return staging_.block(each).begin.load(std::memory_order_relaxed);
    };
    while (next_of(block) != kNoBlock && begin_of(next_of(block)) <= end) block = next_of(block);
    for (auto rest = next_of(block); rest != kNoBlock; rest = next_of(rest)) {
        pool_of(index).free.push_back(rest);
        --tail.open_blocks;
        --open_blocks_;
    }
    staging_.block(block).next.store(kNoBlock, std::memory_order_release);
    chains_[index] = {block, kOpen};
    tail.end = end;
    tail.begin = begin_of(block);
    tail.block = block;
}

} // namespace thalweg::dataset
