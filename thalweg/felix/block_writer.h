// Writes the packets of one e-link into blocks, as the firmware of a card does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "thalweg/felix/block.h"

namespace thalweg::felix {

class BlockWriter {
  public:
    // The function that gets every full block; the bytes are valid during the call.
    using Sink = std::function<void(std::span<std::byte const> block)>;

    BlockWriter(BlockFormat const& format, std::uint16_t elink, Sink sink, std::uint8_t first_sequence = 0);

    // Writes a whole packet, or the end of one that write_part() began. A packet that does not fit continues in the
    // next blocks; its last chunk has the flags.
    void write(std::span<std::byte const> packet, std::uint32_t flags = 0);

    // Writes the next piece of a packet whose end is still to come.
    void write_part(std::span<std::byte const> piece);

    // Ends a packet whose rest did not come in time: TIMEOUT with the truncation bit.
    void write_timed_out(std::span<std::byte const> piece, std::uint32_t flags = Trailer::kError);

    // Hands over a block that is not full: the rest is padding with a TIMEOUT trailer, which does not end an open
    // packet. Does nothing if the block is empty.
    void flush();

    // Writes a block, or the rest of one, with padding only: that is what timeouts of a silent link give.
    void pad();

    // Returns whether a packet of this size would fit completely into the current block.
    bool fits(std::size_t size_bytes) const { return size_bytes + format_.trailer_bytes <= free_bytes(); }
    bool is_empty() const { return used_bytes_ == kBlockHeaderBytes; }
    std::uint64_t blocks() const { return blocks_; }

  private:
    void put(std::span<std::byte const> bytes, ChunkType last, ChunkType whole, std::uint32_t flags);
    void put_chunk(std::span<std::byte const> bytes, Trailer trailer);
    void put_trailer(Trailer trailer);
    void hand_over_if_full();
    std::uint32_t free_bytes() const { return format_.block_bytes - used_bytes_; }

    BlockFormat format_;
    std::uint16_t elink_;
    Sink sink_;
    std::vector<std::byte> block_;
    std::uint32_t used_bytes_ = kBlockHeaderBytes;
    std::uint64_t blocks_ = 0;
    std::uint8_t first_sequence_;
    bool is_open_ = false;
};

} // namespace thalweg::felix
