// The books of one e-link of an emulated card: what a right reader makes of the blocks that were really written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "thalweg/felix/block_pieces.h"
#include "thalweg/felix/card.h"

namespace thalweg::felix {

class LinkBooks {
  public:
    LinkBooks(BlockFormat const& format, std::uint16_t elink) : format_(format) { tally.elink = elink; }

    void published(std::byte const* block);
    // What would have been in a block that was not written, or written as garbage behind the same header.
    void lost(std::byte const* block);
    void garbled(std::byte const* block);
    // Nothing more will come: what was lost last leaves no gap.
    void close();

    LinkTally tally;

  private:
    void see_header(std::byte const* block);
    void read(Piece const& piece);
    std::uint64_t destroy(std::byte const* block);

    BlockFormat format_;
    // Of the reader:
    bool started_ = false;
    std::uint8_t next_sequence_ = 0;
    bool is_open_ = false;
    std::uint64_t unnoticed_ = 0; // packets in blocks lost since the last one that was written
    // Of the card: the packet that goes on in the next block was counted as lost.
    bool open_is_destroyed_ = false;
};

} // namespace thalweg::felix
