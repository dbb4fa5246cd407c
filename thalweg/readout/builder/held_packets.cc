#include "thalweg/readout/builder/held_packets.h"

#include <algorithm>
#include <bit>

#include "thalweg/base/assert.h"

namespace thalweg::readout {
namespace {

constexpr std::size_t kMoveFrom = 96; // queues that begin near their front stay in the caches

} // namespace

HeldPackets::HeldPackets(std::uint64_t enabled_map, std::size_t block_packets)
    : queues_(static_cast<std::size_t>(std::bit_width(enabled_map))) {
    for (auto map = enabled_map; map != 0; map &= map - 1) {
        numbers_.push_back(static_cast<std::uint16_t>(std::countr_zero(map)));
        queues_[numbers_.back()].packets.resize((kMostBlocks + 1) * block_packets);
    }
}

std::uint64_t HeldPackets::oldest_position() const {
    auto oldest = kNone;
    if (is_empty()) return oldest;
    for (auto const number : numbers_) {
        auto const& queue = queues_[number];
        if (queue.block_count != 0) oldest = std::min(oldest, queue.front().position);
    }
    return oldest;
}

std::uint64_t HeldPackets::oldest_ns() const {
    auto oldest = kNone;
    if (is_empty()) return oldest;
    for (auto const number : numbers_) {
        auto const& queue = queues_[number];
        if (queue.block_count != 0) oldest = std::min(oldest, queue.front().taken_ns);
    }
    return oldest;
}

void HeldPackets::put(std::size_t stream, std::span<felix::Packet const> packets, std::uint64_t position,
                      std::uint64_t now_ns) {
    auto& queue = queues_[stream];
    THALWEG_ASSERT(!packets.empty() && queue.block_count < kMostBlocks, "a stream holds a few blocks");
    if (queue.head >= kMoveFrom || queue.tail + packets.size() > queue.packets.size()) move_to_front(queue);
    THALWEG_ASSERT(queue.tail + packets.size() <= queue.packets.size(), "the blocks of a stream have room");
    std::copy(packets.begin(), packets.end(), queue.packets.begin() + static_cast<std::ptrdiff_t>(queue.tail));
    queue.tail += packets.size();
    queue.mark(queue.block_count++) = {queue.tail, position, now_ns};
    ++blocks_;
    longest_ = std::max(longest_, queue.tail - queue.head);
    newest_ns_ = now_ns;
}

void HeldPackets::move_to_front(Queue& queue) {
    auto const begin = queue.packets.begin();
    std::copy(begin + static_cast<std::ptrdiff_t>(queue.head), begin + static_cast<std::ptrdiff_t>(queue.tail), begin);
    for (std::size_t block = 0; block < queue.block_count; ++block) queue.mark(block).end -= queue.head;
    queue.tail -= queue.head;
    queue.head = 0;
}

HeldPackets::Batch HeldPackets::batch(std::array<felix::Packet const*, kMaxStreams>& heads) const {
    auto count = kNone, in_front = kNone, oldest = kNone;
    for (std::size_t index = 0; index < numbers_.size(); ++index) {
        auto const& queue = queues_[numbers_[index]];
        heads[index] = queue.packets.data() + queue.head;
        count = std::min<std::uint64_t>(count, queue.tail - queue.head);
        if (count == 0) return {};
        in_front = std::min<std::uint64_t>(in_front, queue.front().end - queue.head);
        oldest = std::min(oldest, queue.front().taken_ns);
    }
    // If all blocks were taken at one time, it does not matter where one ends.
    return {static_cast<std::size_t>(oldest == newest_ns_ ? count : in_front), oldest};
}

void HeldPackets::drop(std::size_t count) {
    longest_ = 0;
    for (auto const number : numbers_) {
        advance(queues_[number], count);
        longest_ = std::max(longest_, queues_[number].tail - queues_[number].head);
    }
}

void HeldPackets::advance(Queue& queue, std::size_t count) {
    queue.head += count;
    THALWEG_ASSERT(queue.head <= queue.tail, "only packets that are held are removed");
    while (queue.block_count != 0 && queue.front().end <= queue.head) {
        queue.first_block = (queue.first_block + 1) % kMostBlocks;
        --queue.block_count;
        --blocks_;
    }
}

HeldPackets::Block HeldPackets::first_block() const {
    Block first;
    auto oldest = kNone;
    for (auto const number : numbers_) {
        auto const& queue = queues_[number];
        if (queue.block_count == 0 || queue.front().position >= oldest) continue;
        oldest = queue.front().position;
        first = {number, std::span(queue.packets).subspan(queue.head, queue.front().end - queue.head),
                 queue.front().taken_ns};
    }
    return first;
}

void HeldPackets::drop(Block const& block) {
    advance(queues_[block.stream], block.packets.size());
    if (is_empty()) longest_ = 0;
}

} // namespace thalweg::readout
