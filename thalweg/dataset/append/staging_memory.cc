#include "thalweg/dataset/append/staging_memory.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::dataset {
namespace {

constexpr auto kOpen = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kFirstGrowthBytes = base::kMiB;
constexpr std::uint64_t kMostGrowthBytes = 8 * base::kMiB;

std::uint64_t least_bytes(StagingPlan const& plan) { return plan.shared ? plan.least_bytes : plan.size_bytes; }

} // namespace

StagingMemory::StagingMemory(Staging const& staging, std::vector<model::Column> const& columns,
                             model::TableLayout const& layout, StagingOptions const& options)
    : staging_(staging), shared_(plan_staging(columns, layout, options).shared),
      block_bytes_(staging.column(0).block_bytes),
      share_(options.memory_bytes, least_bytes(plan_staging(columns, layout, options))), tails_(columns.size()),
      chains_(columns.size()), free_(shared_ ? 1 : columns.size()) {
    share_.exceed(staging_.head().allocated_bytes);
    if (shared_) {
        fresh_ = permanent_ = staging_.head().allocated_bytes / block_bytes_;
        for (auto block = permanent_; block-- > 0;) free_[0].push_back(static_cast<std::uint32_t>(block));
        return;
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const& column = staging_.column(i);
        for (auto block = column.first_block + column.blocks; block-- > column.first_block;)
            free_[i].push_back(static_cast<std::uint32_t>(block));
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

void StagingMemory::begin_page(std::size_t column) {
    auto& tail = tails_[column];
    auto const goes_on = tail.block != kNoBlock && tail.end - tail.begin < staging_.column(column).block_bytes;
    if (!goes_on) tail.block = kNoBlock;
    tail.page_block = tail.block;
    open_blocks_ -= tail.open_blocks;
    tail.open_blocks = goes_on ? 1 : 0;
    open_blocks_ += tail.open_blocks;
}

bool StagingMemory::extend(std::size_t index) {
    auto& tail = tails_[index];
    base::Lock const lock(mutex_);
    auto& free = free_of(index);
    if (free.empty() && !(shared_ && grow(1))) return false;
    auto const block = free.back();
    free.pop_back();
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
    auto& free = free_of(column);
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
    std::atomic_thread_fence(std::memory_order_seq_cst); // whoever sees a block's new bytes sees that the chain changed
    std::reverse(free.begin() + static_cast<std::ptrdiff_t>(known), free.end()); // the oldest first, again
}

bool StagingMemory::has_blocks(std::span<std::uint64_t const> by_column) {
    base::Lock const lock(mutex_);
    std::uint64_t together = 0;
    for (std::size_t i = 0; i < by_column.size(); ++i) {
        if (by_column[i] == 0) continue;
        if (!shared_ && free_[i].size() < by_column[i]) return false;
        together += by_column[i];
    }
    if (!shared_ || free_[0].size() >= together) return true;
    return grow(together - free_[0].size());
}

std::uint64_t StagingMemory::most_blocks(std::size_t column) const {
    if (!shared_) return staging_.column(column).blocks - 1;
    return std::max<std::uint64_t>(1, most_bytes() / block_bytes_ / 2);
}

// Blocks that lie side by side are allocated together; where there is no memory the producer lives with what it has.
bool StagingMemory::grow(std::uint64_t blocks) {
    auto const had = share_.held_bytes() / block_bytes_;
    auto const left = staging_.head().blocks - had;
    if (is_full_ || blocks > left) return false;
    auto const step = std::clamp(share_.held_bytes() / 2, kFirstGrowthBytes, kMostGrowthBytes) / block_bytes_;
    auto const wanted = std::min(std::max(blocks, step), left);
    auto const taken = share_.take(wanted * block_bytes_);
    auto const whole = taken / block_bytes_;
    share_.give(taken - whole * block_bytes_);
    if (whole < blocks) {
        share_.give(whole * block_bytes_);
        return false;
    }
    try {
        allocate(whole);
    } catch (base::SystemError const& error) {
        share_.give((had + whole) * block_bytes_ - staging_.head().allocated_bytes);
        if (error.code != ENOSPC) throw;
        is_full_ = true;
    }
    return share_.held_bytes() >= (had + blocks) * block_bytes_;
}

void StagingMemory::allocate(std::uint64_t blocks) {
    std::sort(unallocated_.begin(), unallocated_.end(), std::greater<>());
    while (blocks > 0 && !unallocated_.empty()) {
        auto const first = unallocated_.back();
        std::uint64_t run = 0;
        for (; run < blocks && !unallocated_.empty() && unallocated_.back() == first + run; ++run)
            unallocated_.pop_back();
        try {
            allocate_run(first, run);
        } catch (base::SystemError const&) {
            for (std::uint64_t i = 0; i < run; ++i) unallocated_.push_back(static_cast<std::uint32_t>(first + i));
            throw;
        }
        blocks -= run;
    }
    if (blocks == 0) return;
    allocate_run(static_cast<std::uint32_t>(fresh_), blocks);
    fresh_ += blocks;
}

void StagingMemory::allocate_run(std::uint32_t first, std::uint64_t blocks) {
    auto const offset = staging_.column(0).data_offset + first * block_bytes_;
    staging_.memory().allocate(offset, blocks * block_bytes_);
    staging_.head().allocated_bytes += blocks * block_bytes_;
    auto& free = free_[0];
    for (auto i = blocks; i-- > 0;) free.push_back(static_cast<std::uint32_t>(first + i));
}

std::uint64_t StagingMemory::most_bytes() const {
    auto const whole = staging_.head().blocks * block_bytes_;
    return is_full_ ? share_.held_bytes() : std::min(share_.most_bytes(), whole);
}

void StagingMemory::give_back(bool everything) {
    if (!shared_) return;
    base::Lock const lock(mutex_);
    auto const blocks = (everything ? share_.held_bytes() : share_.excess_bytes()) / block_bytes_;
    auto& free = free_[0];
    if (blocks == 0) return;
    std::sort(free.begin(), free.end());
    auto const may_go = [&] { return !free.empty() && free.back() >= permanent_; };
    for (std::uint64_t given = 0; given < blocks && may_go();) {
        auto first = free.back() + 1;
        std::uint64_t run = 0;
        for (; given < blocks && may_go() && free.back() + 1 == first; ++run, ++given) {
            unallocated_.push_back(--first);
            free.pop_back();
        }
        staging_.memory().give_back(staging_.column(0).data_offset + first * block_bytes_, run * block_bytes_);
        staging_.head().allocated_bytes -= run * block_bytes_;
        share_.give(run * block_bytes_);
    }
    std::reverse(free.begin(), free.end()); // the first ones are used first
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
        free_of(index).push_back(rest);
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
