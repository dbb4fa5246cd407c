#include "thalweg/dataset/run/staging.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/base/utf8.h"

namespace thalweg::dataset {
namespace {

constexpr char kMagic[8] = {'T', 'H', 'S', 'T', 'A', 'G', 'E', '3'};
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

// The copy races with the producer on purpose; copy_items looks afterwards whether the bytes can be trusted.
__attribute__((no_sanitize("thread"))) void copy_racing(std::byte* to, std::byte const* from, std::size_t size_bytes) {
#if defined(__SANITIZE_THREAD__)
    for (std::size_t i = 0; i < size_bytes; ++i) to[i] = from[i]; // memcpy itself would be watched
#else
    std::memcpy(to, from, size_bytes);
#endif
}

} // namespace

std::size_t staging_size_bytes(std::vector<model::Column> const& columns, model::TableLayout const& layout,
                               StagingOptions const& options) {
    auto size = base::round_up(ring_offset(columns.size()) + options.ring_size * sizeof(PageRecord), base::kBlockBytes);
    auto const counts = buffers(columns, layout, options);
    for (std::size_t i = 0; i < columns.size(); ++i) size += buffer_bytes(columns[i], layout.columns[i]) * counts[i];
    return size;
}

Staging::Staging(std::shared_ptr<base::SharedMemory> memory)
    : memory_(std::move(memory)), head_(reinterpret_cast<StagingHead*>(memory_->data())),
      columns_(reinterpret_cast<ColumnState*>(memory_->data() + kHeadBytes)), ring_(nullptr) {}

Staging Staging::format(std::shared_ptr<base::SharedMemory> memory, std::vector<model::Column> const& columns,
                        model::TableLayout const& layout, StagingOptions const& options, bool of_units) {
    Staging staging(std::move(memory));
    auto& head = *new (staging.head_) StagingHead{};
    head.columns = static_cast<std::uint32_t>(columns.size());
    head.ring_size = options.ring_size;
    head.of_units = of_units ? 1 : 0;
    head.ring_offset = ring_offset(columns.size());
    head.size_bytes = staging_size_bytes(columns, layout, options);
    staging.ring_ = reinterpret_cast<PageRecord*>(staging.memory_->data() + head.ring_offset);
    auto offset = base::round_up(head.ring_offset + head.ring_size * sizeof(PageRecord), base::kBlockBytes);
    auto const counts = buffers(columns, layout, options);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const bytes = buffer_bytes(columns[i], layout.columns[i]);
        auto& state = *new (staging.columns_ + i) ColumnState{};
        state.page_items = layout.columns[i].page_items;
        state.item_bytes = columns[i].item_bytes();
        state.buffer_bytes = bytes;
        state.buffers = counts[i];
        state.data_offset = offset;
        offset += bytes * state.buffers;
    }
    std::memcpy(head.magic, kMagic, sizeof kMagic); // last: a segment with it is whole
    return staging;
}

Staging Staging::open(std::shared_ptr<base::SharedMemory> memory, std::vector<model::Column> const& columns,
                      model::TableLayout const& layout) {
    auto const size = memory->size();
    Staging staging(std::move(memory));
    auto const& head = *staging.head_;
    bool sound = size >= kHeadBytes && std::memcmp(head.magic, kMagic, sizeof kMagic) == 0 &&
                 head.columns == columns.size() && head.size_bytes <= size && std::has_single_bit(head.ring_size) &&
                 head.ring_offset == ring_offset(columns.size()) &&
                 head.ring_offset + std::uint64_t{head.ring_size} * sizeof(PageRecord) <= size;
    for (std::size_t i = 0; sound && i < columns.size(); ++i) {
        auto const& state = staging.columns_[i];
        sound = state.page_items == layout.columns[i].page_items && state.item_bytes == columns[i].item_bytes() &&
                state.buffer_bytes >= state.page_items * state.item_bytes && state.buffers > 0 &&
                state.data_offset + state.buffers * state.buffer_bytes <= size;
    }
    if (!sound) base::fail_data({"the staging memory of a producer cannot be read", "it does not fit the schema"});
    staging.ring_ = reinterpret_cast<PageRecord*>(staging.memory_->data() + head.ring_offset);
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

std::byte* Staging::item(std::size_t column, std::uint64_t index) const {
    auto const& state = columns_[column];
    auto const page = index / state.page_items;
    return memory_->data() + state.data_offset + page % state.buffers * state.buffer_bytes +
           index % state.page_items * state.item_bytes;
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

std::optional<std::vector<std::byte>> Staging::copy_items(std::size_t column, std::uint64_t first,
                                                          std::uint64_t count) const {
    auto const& state = columns_[column];
    std::vector<std::byte> bytes(count * state.item_bytes);
    auto* to = bytes.data();
    for (auto next = first; next < first + count;) {
        auto const items = std::min(first + count - next, state.page_items - next % state.page_items);
        copy_racing(to, item(column, next), items * state.item_bytes);
        to += items * state.item_bytes;
        next += items;
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (state.released.load(std::memory_order_relaxed) > first) return std::nullopt;
    return bytes;
}

} // namespace thalweg::dataset
