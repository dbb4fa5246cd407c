#include "thalweg/dataset/run/staging.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/base/utf8.h"

namespace thalweg::dataset {
namespace {

constexpr char kStagingMagic[8] = {'T', 'H', 'S', 'T', 'A', 'G', 'E', '5'};
constexpr std::size_t kHeadBytes = base::round_up(sizeof(StagingHead), 64);

std::uint64_t buffer_bytes(model::Column const& column, model::ColumnLayout const& layout) {
    return base::round_up(layout.page_items * column.item_bytes(), base::kBlockBytes);
}

// Pages of columns that count rows fill at about the same pace; those of elements of lists faster: so much, we guess,
// for each list they are in.
constexpr std::uint64_t kPaceOfElements = 16;

std::uint64_t pace(std::vector<model::Column> const& columns, std::size_t column) {
    std::uint64_t pace = 1;
    for (auto parent = columns[column].parent; parent; parent = columns[*parent].parent) pace *= kPaceOfElements;
    return pace;
}

// By column: what page_ring_bytes has room for, shared out by how fast pages fill.
std::vector<std::uint64_t> buffers(std::vector<model::Column> const& columns, model::TableLayout const& layout,
                                   StagingOptions const& options) {
    std::uint64_t together_bytes = 0;
    for (std::size_t i = 0; i < columns.size(); ++i)
        together_bytes += buffer_bytes(columns[i], layout.columns[i]) * pace(columns, i);
    std::vector<std::uint64_t> counts;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const share = options.page_ring_bytes * pace(columns, i) / std::max(together_bytes, base::kBlockBytes);
        counts.push_back(std::max(options.min_buffers, share));
    }
    return counts;
}

std::uint64_t ring_offset(std::size_t columns) {
    return kHeadBytes + base::round_up(columns * sizeof(ColumnState), 64);
}

// Small enough that a block which is used in part costs little, and large enough that a page is in few of them: in one,
// where there are few columns.
constexpr std::uint64_t kBlocksPerColumn = 8;
constexpr std::uint64_t kMaxBlockBytes = 1 << 20;
constexpr std::uint64_t kLeastBlocksPerColumn = 2;

std::uint64_t shared_block_bytes(std::vector<model::Column> const& columns, model::TableLayout const& layout,
                                 StagingOptions const& options) {
    std::uint64_t largest = base::kBlockBytes;
    for (std::size_t i = 0; i < columns.size(); ++i)
        largest = std::max(largest, buffer_bytes(columns[i], layout.columns[i]));
    largest = std::min(largest, kMaxBlockBytes);
    auto const wanted = options.memory_bytes / (kBlocksPerColumn * columns.size());
    if (wanted >= largest) return largest;
    return std::max(std::bit_floor(wanted), base::kBlockBytes);
}

// What pages take that may not end before they have their size.
std::uint64_t open_page_bytes(std::vector<model::Column> const& columns, model::TableLayout const& layout,
                              std::uint64_t block_bytes) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < columns.size(); ++i)
        bytes += base::round_up(buffer_bytes(columns[i], layout.columns[i]), block_bytes);
    return std::min(bytes, base::round_up(layout.cluster_bytes, block_bytes));
}

StagingPlan plan_shared(std::vector<model::Column> const& columns, model::TableLayout const& layout,
                        StagingOptions const& options) {
    StagingPlan plan;
    plan.shared = true;
    auto const block_bytes = shared_block_bytes(columns, layout, options);
    std::uint64_t widest = 0;
    for (auto const& column : columns) widest = std::max<std::uint64_t>(widest, column.item_bytes());
    plan.least_bytes = (kLeastBlocksPerColumn * columns.size() + kBlocksPerColumn) * block_bytes +
                       base::round_up(2 * widest, block_bytes);
    if (layout.fixed_cuts) plan.least_bytes += open_page_bytes(columns, layout, block_bytes);
    plan.blocks = std::max(plan.least_bytes, options.memory_bytes) / block_bytes;
    plan.columns.assign(columns.size(), {block_bytes, 0, plan.blocks, 0, 0});
    return plan;
}

StagingPlan plan_own(std::vector<model::Column> const& columns, model::TableLayout const& layout,
                     StagingOptions const& options) {
    StagingPlan plan;
    auto const counts = buffers(columns, layout, options);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        plan.columns.push_back({buffer_bytes(columns[i], layout.columns[i]), plan.blocks, counts[i], 0, 0});
        plan.blocks += counts[i];
        plan.least_bytes += plan.columns.back().block_bytes;
    }
    return plan;
}

using Word = std::uint64_t __attribute__((may_alias, aligned(1)));

// The copy races with the producer on purpose; copy_items looks afterwards whether the bytes can be trusted. It does
// not call memcpy, which ThreadSanitizer would watch: in our tests, and in a program that uses this library. With
// `volatile` the compiler does not make one of the loops.
__attribute__((no_sanitize("thread"))) void copy_racing(std::byte* to, std::byte const* from, std::size_t size_bytes) {
    auto const words_bytes = size_bytes / sizeof(Word) * sizeof(Word);
    for (std::size_t i = 0; i < words_bytes; i += sizeof(Word))
        *reinterpret_cast<Word*>(to + i) = *reinterpret_cast<Word const volatile*>(from + i);
    for (std::size_t i = words_bytes; i < size_bytes; ++i) to[i] = static_cast<std::byte const volatile&>(from[i]);
}

} // namespace

StagingPlan plan_staging(std::vector<model::Column> const& columns, model::TableLayout const& layout,
                         StagingOptions const& options) {
    auto plan = layout.cluster_bytes > 0 ? plan_shared(columns, layout, options) : plan_own(columns, layout, options);
    plan.blocks_offset = ring_offset(columns.size()) + options.ring_size * sizeof(PageRecord);
    plan.size_bytes = base::round_up(plan.blocks_offset + plan.blocks * sizeof(BlockState), base::kBlockBytes);
    plan.begin_bytes = plan.size_bytes + plan.least_bytes;
    for (auto& column : plan.columns) { // the first blocks of all of them come first
        column.first_offset = plan.size_bytes;
        column.data_offset = plan.size_bytes + column.block_bytes;
        if (!plan.shared) plan.size_bytes += column.block_bytes;
    }
    if (plan.shared) {
        plan.size_bytes += plan.blocks * plan.columns.front().block_bytes;
        return plan;
    }
    for (auto& column : plan.columns) {
        column.data_offset = plan.size_bytes;
        plan.size_bytes += (column.blocks - 1) * column.block_bytes;
    }
    return plan;
}

Staging::Staging(std::shared_ptr<base::SharedMemory> memory)
    : memory_(std::move(memory)), head_(reinterpret_cast<StagingHead*>(memory_->data())),
      columns_(reinterpret_cast<ColumnState*>(memory_->data() + kHeadBytes)) {}

Staging Staging::format(std::shared_ptr<base::SharedMemory> memory, std::vector<model::Column> const& columns,
                        model::TableLayout const& layout, StagingOptions const& options, bool of_units) {
    Staging staging(std::move(memory));
    auto const plan = plan_staging(columns, layout, options);
    auto& head = *new (staging.head_) StagingHead{};
    head.columns = static_cast<std::uint32_t>(columns.size());
    head.ring_size = options.ring_size;
    head.of_units = of_units ? 1 : 0;
    head.ring_offset = ring_offset(columns.size());
    head.size_bytes = plan.size_bytes;
    head.blocks_offset = plan.blocks_offset;
    head.blocks = plan.blocks;
    head.allocated_bytes = plan.least_bytes;
    staging.set_tables();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const& blocks = plan.columns[i];
        auto& state = *new (staging.columns_ + i) ColumnState{};
        state.chain = kNoBlock;
        state.page_items = layout.columns[i].page_items;
        state.item_bytes = columns[i].item_bytes();
        state.block_bytes = blocks.block_bytes;
        state.first_block = blocks.first_block;
        state.blocks = blocks.blocks;
        state.first_offset = blocks.first_offset;
        state.data_offset = blocks.data_offset;
    }
    std::memcpy(head.magic, kStagingMagic, sizeof kStagingMagic); // last: a segment with it is whole
    return staging;
}

void Staging::set_tables() {
    ring_ = reinterpret_cast<PageRecord*>(memory_->data() + head_->ring_offset);
    blocks_ = reinterpret_cast<BlockState*>(memory_->data() + head_->blocks_offset);
}

Staging Staging::open(std::shared_ptr<base::SharedMemory> memory, std::vector<model::Column> const& columns,
                      model::TableLayout const& layout) {
    auto const size = memory->size();
    Staging staging(std::move(memory));
    auto const& head = *staging.head_;
    bool sound = size >= kHeadBytes && std::memcmp(head.magic, kStagingMagic, sizeof kStagingMagic) == 0 &&
                 head.columns == columns.size() && head.size_bytes <= size && std::has_single_bit(head.ring_size) &&
                 head.ring_offset == ring_offset(columns.size()) &&
                 head.ring_offset + std::uint64_t{head.ring_size} * sizeof(PageRecord) <= head.blocks_offset &&
                 head.blocks_offset <= size && head.blocks <= (size - head.blocks_offset) / sizeof(BlockState) &&
                 head.blocks < kNoBlock;
    for (std::size_t i = 0; sound && i < columns.size(); ++i) {
        auto const& state = staging.columns_[i];
        sound = state.page_items == layout.columns[i].page_items && state.item_bytes == columns[i].item_bytes() &&
                state.block_bytes > 0 && state.blocks > 0 && state.first_block <= head.blocks &&
                state.blocks <= head.blocks - state.first_block && state.block_bytes <= size &&
                state.first_offset <= size - state.block_bytes && state.data_offset <= size &&
                state.blocks - 1 <= (size - state.data_offset) / state.block_bytes;
    }
    if (!sound) base::fail_data({"the staging memory of a producer cannot be read", "it does not fit the schema"});
    staging.set_tables();
    return staging;
}

std::atomic<std::uint64_t>& Staging::named_counter(std::string_view name) const {
    for (auto& counter : head_->named) {
        if (name == counter.name) return counter.value;
        if (counter.name[0] != 0) continue;
        if (name.empty() || name.size() >= sizeof counter.name) break;
        name.copy(counter.name, name.size());
        return counter.value;
    }
    base::fail_usage({fmt::format("a producer cannot count '{}'", name),
                      fmt::format("it has at most {} counters, with names of 1 to 23 bytes", kNamedCounters)});
}

std::uint64_t Staging::rows_counted() const {
    auto const& rows = head_->of_units != 0 ? head_->rows_committed : head_->rows_published;
    return rows.load(std::memory_order_acquire);
}

std::uint64_t Staging::items_counted(std::size_t column) const {
    auto const& state = columns_[column];
    return (head_->of_units != 0 ? state.committed : state.published).load(std::memory_order_acquire);
}

void Staging::set_abandoned(std::string_view reason) const {
    auto size = std::min(reason.size(), sizeof head_->abandoned - 1);
    while (size < reason.size() && size > 0 && (reason[size] & 0xc0) == 0x80) --size; // not in the middle of a letter
    reason.copy(head_->abandoned, size);
    head_->abandoned[size] = 0;
    head_->is_abandoned.store(1, std::memory_order_release);
}

std::optional<std::string> Staging::abandoned() const {
    if (head_->is_abandoned.load(std::memory_order_acquire) == 0) return std::nullopt;
    return base::readable({head_->abandoned, ::strnlen(head_->abandoned, sizeof head_->abandoned)});
}

bool Staging::pieces(std::size_t index, std::uint32_t block, std::uint64_t begin, std::uint64_t size_bytes,
                     std::vector<std::span<std::byte const>>& pieces) const {
    auto const& column = columns_[index];
    auto const is_own = [&](std::uint64_t each) {
        return each >= column.first_block && each - column.first_block < column.blocks;
    };
    for (std::uint64_t steps = 0; size_bytes > 0; ++steps) {
        if (!is_own(block) || steps > column.blocks) return false;
        auto const block_begin = blocks_[block].begin.load(std::memory_order_relaxed);
        auto const next = blocks_[block].next.load(std::memory_order_relaxed);
        auto end = block_begin + column.block_bytes;
        if (is_own(next)) end = std::min(end, blocks_[next].begin.load(std::memory_order_relaxed));
        if (begin < block_begin) return false;
        if (begin < end) {
            auto const bytes = std::min(size_bytes, end - begin);
            pieces.emplace_back(data(column, block) + (begin - block_begin), bytes);
            begin += bytes;
            size_bytes -= bytes;
        }
        block = next;
    }
    return true;
}

double Staging::fill() const {
    double fill = 0;
    std::uint64_t used_bytes = 0;
    bool const shared = head_->columns > 0 && columns_[0].blocks == head_->blocks && head_->columns > 1;
    for (std::size_t i = 0; i < head_->columns; ++i) {
        auto const& column = columns_[i];
        auto const released = std::min(column.released.load(), column.published.load());
        auto const bytes = (column.published.load() - released) * column.item_bytes;
        used_bytes += bytes;
        if (!shared)
            fill = std::max(fill, static_cast<double>(bytes) / static_cast<double>(column.blocks * column.block_bytes));
    }
    auto const allocated = std::max<std::uint64_t>(1, head_->allocated_bytes.load());
    return shared ? std::min(1.0, static_cast<double>(used_bytes) / static_cast<double>(allocated)) : fill;
}

bool Staging::announce(PageRecord const& record) const {
    auto const next = head_->ring_head.load(std::memory_order_relaxed);
    if (next - head_->ring_tail.load(std::memory_order_acquire) >= head_->ring_size) return false;
    ring_[next & (head_->ring_size - 1)] = record;
    head_->ring_head.store(next + 1, std::memory_order_release);
    return true;
}

void Staging::read_announcements(std::vector<PageRecord>& records) const {
    auto const end = head_->ring_head.load(std::memory_order_acquire);
    auto next = head_->ring_tail.load(std::memory_order_relaxed);
    if (end - next > head_->ring_size) base::fail_data({"the ring of a producer cannot be read", "its head ran away"});
    for (; next != end; ++next) records.push_back(ring_[next & (head_->ring_size - 1)]);
}

void Staging::drop_announcements(std::size_t count) const {
    THALWEG_ASSERT(count <= head_->ring_head - head_->ring_tail, "announcements are dropped after they were read");
    head_->ring_tail.fetch_add(count, std::memory_order_release);
}

// If the chain changed meanwhile, blocks on the way to the items may have been used again, for any column.
std::optional<std::vector<std::byte>> Staging::copy_items(std::size_t index, std::uint64_t first,
                                                          std::uint64_t count) const {
    constexpr int kTries = 16;
    auto const& column = columns_[index];
    std::vector<std::byte> bytes(count * column.item_bytes);
    for (int i = 0; i < kTries; ++i) {
        if (column.released.load(std::memory_order_acquire) > first) return std::nullopt;
        if (try_copy(column, first, bytes)) return bytes;
    }
    return std::nullopt;
}

bool Staging::try_copy(ColumnState const& column, std::uint64_t first, std::span<std::byte> to) const {
    auto const chain = column.chain.load(std::memory_order_acquire);
    std::vector<std::span<std::byte const>> from;
    auto const index = static_cast<std::size_t>(&column - columns_);
    if (!pieces(index, static_cast<std::uint32_t>(chain), first * column.item_bytes, to.size(), from)) return false;
    for (auto const& piece : from) {
        copy_racing(to.data(), piece.data(), piece.size());
        to = to.subspan(piece.size());
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    return column.chain.load(std::memory_order_relaxed) == chain;
}

} // namespace thalweg::dataset
