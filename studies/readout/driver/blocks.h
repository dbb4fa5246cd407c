// Blocks as a card writes them, in a buffer much larger than the second-level cache. Those of all e-links are mixed, in
// the order in which they become full.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "thalweg/base/memory.h"
#include "thalweg/felix/block_writer.h"
#include "thalweg/felix/card.h"

namespace thalweg::study {

class Blocks {
  public:
    Blocks(std::uint32_t elinks, felix::PacketSizes const& sizes, std::uint64_t size_bytes);

    // Fills the buffer once more: the events continue.
    void refill();

    std::uint64_t count() const { return count_; }
    std::byte const* block(std::uint64_t index) const { return memory_.data() + index * format_.block_bytes; }
    felix::BlockFormat const& format() const { return format_; }
    // In all blocks that were handed over, except for some at the end.
    std::uint64_t packets() const { return packets_; }

  private:
    void write_event();

    felix::BlockFormat format_;
    felix::PacketSizes sizes_;
    base::AlignedBuffer memory_;
    std::uint64_t capacity_;
    std::uint64_t count_ = 0;
    std::vector<felix::BlockWriter> writers_;
    std::vector<std::byte> spilled_; // blocks of an event that came when the buffer was full
    std::minstd_rand random_{1};
    std::uint32_t l1id_ = 0;
    std::uint64_t packets_ = 0;
};

} // namespace thalweg::study
