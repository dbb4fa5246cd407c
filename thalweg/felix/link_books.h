// The accounts of one e-link of an emulated card: what a correct reader makes of the blocks that were really written.
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
    // Counts what a block would have held that was not written, or was replaced by garbage behind the same header.
    void lost(std::byte const* block);
    void garbled(std::byte const* block);
    // Says that no more blocks will come: blocks that were lost at the very end leave no gap.
    void close();

    LinkTally tally;

  private:
    void see_header(std::byte const* block);
    void read(BlockPiece const& piece);
    std::uint64_t destroy(std::byte const* block);

    BlockFormat format_;
    // The next four are the state of the reader.
    bool started_ = false;
    std::uint8_t next_sequence_ = 0;
    bool is_open_ = false;
    std::uint64_t unnoticed_ = 0; // packets in blocks that were lost since the last written one
    // This is the state of the card: the packet that continues in the next block was counted as lost.
    bool open_is_destroyed_ = false;
};

} // namespace thalweg::felix
