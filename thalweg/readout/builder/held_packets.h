// Packets of a group that are decoded and wait for those of the other streams, so that whole fragments can be written.
// Their bytes lie in blocks that the card does not get back meanwhile, or in the decoders.
//
//   stream 0   [ block | block ]        packets of all streams from the first one on: events to build
//   stream 1   [ block ]
//   stream 2   [ block | block | blo
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/felix/decoder.h"
#include "thalweg/readout/fragment.h"

namespace thalweg::readout {

class HeldPackets {
  public:
    static constexpr std::uint64_t kNone = ~0ull;
    static constexpr std::size_t kMostBlocks = felix::StreamDecoder::kKeptJoins - 2; // of one stream

    // The packets of one block that are still held.
    struct Block {
        std::size_t stream = 0;
        std::span<felix::Packet const> packets;
        std::uint64_t taken_ns = 0;
    };
    // The first packet that each stream holds; `count` more or less follow in every one of them.
    struct Batch {
        std::size_t count = 0;
        std::uint64_t taken_ns = 0; // when the first packet of each of these events was taken
    };

    // `streams`: those that are enabled. `block_packets`: the most that a block holds.
    HeldPackets(std::uint64_t enabled_map, std::size_t block_packets);

    std::span<std::uint16_t const> streams() const { return numbers_; }
    bool is_empty() const { return blocks_ == 0; }
    bool is_empty(std::size_t stream) const { return queues_[stream].head == queues_[stream].tail; }
    bool is_full(std::size_t stream) const { return queues_[stream].block_count == kMostBlocks; }
    std::size_t count(std::size_t stream) const { return queues_[stream].tail - queues_[stream].head; }
    felix::Packet const& last(std::size_t stream) const { return queues_[stream].packets[queues_[stream].tail - 1]; }
    // Returns an upper limit of the packets of each stream.
    std::size_t longest() const { return longest_; }
    // Return the position of the oldest block, and the time when it was taken; kNone: there is none.
    std::uint64_t oldest_position() const;
    std::uint64_t oldest_ns() const;

    void put(std::size_t stream, std::span<felix::Packet const> packets, std::uint64_t position, std::uint64_t now_ns);
    // Returns how many packets all streams have, of blocks that were taken at the same times. Sets the first of each.
    Batch batch(std::array<felix::Packet const*, kMaxStreams>& heads) const;
    // Removes so many packets of every stream.
    void drop(std::size_t count);
    // Returns the block that was taken first; no packets: there is none.
    Block first_block() const;
    void drop(Block const& block);

  private:
    struct Mark {
        std::size_t end = 0; // of its packets in the queue
        std::uint64_t position = 0;
        std::uint64_t taken_ns = 0;
    };
    struct Queue {
        std::vector<felix::Packet> packets;
        std::size_t head = 0, tail = 0;
        std::array<Mark, kMostBlocks> marks;
        std::size_t first_block = 0, block_count = 0;

        Mark const& front() const { return marks[first_block]; }
        Mark& mark(std::size_t index) { return marks[(first_block + index) % kMostBlocks]; }
    };

    void move_to_front(Queue& queue);
    void advance(Queue& queue, std::size_t count);

    std::vector<std::uint16_t> numbers_; // of the streams that are enabled
    std::vector<Queue> queues_;          // of all streams
    std::size_t blocks_ = 0;
    std::size_t longest_ = 0;
    std::uint64_t newest_ns_ = 0; // when the last block was taken
};

} // namespace thalweg::readout
