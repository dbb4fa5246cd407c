// Blocks of one e-link into packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/base/shared_number.h"
#include "thalweg/felix/block.h"

namespace thalweg::felix {

struct Packet {
    std::byte const* data = nullptr;
    std::uint32_t size_bytes = 0;
    std::uint32_t flags = 0; // Trailer::kCrc, kError, kTruncated, kBusy: of any of its pieces
};

// What went by and what was wrong with it; readable by any thread while the decoder works.
struct StreamCounters {
    base::SharedNumber blocks;
    base::SharedNumber packets;       // handed on, whole or flagged
    base::SharedNumber payload_bytes; // of these
    base::SharedNumber sequence_gaps; // blocks whose sequence number was not the next one
    base::SharedNumber lost_blocks;   // at least so many were lost in these gaps; 32 and multiples of it do not show
    base::SharedNumber
        bad_blocks; // trailers that do not lead from the block's end to its header; the block was dropped
    base::SharedNumber dropped_chunks; // pieces without their beginning or end: after a gap, a restart or a bad block
    base::SharedNumber crc_errors;     // packets with that flag
    base::SharedNumber errors;
    base::SharedNumber truncated;
    base::SharedNumber busy;
    base::SharedNumber timeouts;
    base::SharedNumber out_of_band;
    base::SharedNumber undefined; // trailers of type 6
};

// Gives packets in the order in which they came. A packet that lies whole in a block is a view into that block;
// others are put together in a buffer of the decoder: views of both are valid until the next call. Packets of more than
// `max_packet_bytes` are cut there and flagged as truncated.
class StreamDecoder {
  public:
    explicit StreamDecoder(BlockFormat const& format, std::uint32_t max_packet_bytes = 1u << 20);

    // `block` has the format's size and a header of this e-link. The span is valid until the next call.
    std::span<Packet const> decode(std::byte const* block);

    // Another card: any sequence number will do, and the open packet has lost its end.
    void restart();

    StreamCounters const& counters() const { return counters_; }

  private:
    // A piece of a packet, or what else is not a whole one; its slot among the packets of the block.
    struct Piece {
        std::uint32_t slot;
        std::uint32_t offset;
        std::uint32_t word;
    };

    template <std::uint32_t kTrailerBytes, bool kSpeculate> bool walk(std::byte const* block);
    void check_sequence(std::uint8_t sequence);
    void join_pieces(std::byte const* block);
    void join(std::byte const* block, Piece const& piece);
    void end_open(Packet& packet);
    void append_open(std::byte const* data, Trailer trailer);
    void drop_open();
    void close_gaps();
    void count(std::uint32_t flags);

    BlockFormat format_;
    std::uint32_t max_packet_bytes_;
    StreamCounters counters_;
    std::vector<Packet> packets_; // of the last block, at its end
    std::size_t first_packet_ = 0;
    std::size_t end_packet_ = 0;
    std::vector<Piece> pieces_;     // of the last block, last one first
    std::vector<std::byte> open_;   // a packet whose end has not come
    std::vector<std::byte> joined_; // packets that were put together from pieces, of the last block
    std::uint32_t open_flags_ = 0;
    std::uint32_t guessed_right_ = 0; // of the last block: how many chunks were as long as the one behind them
    bool is_open_ = false;
    bool started_ = false;
    bool speculate_ = true;
    std::uint8_t next_sequence_ = 0;
};

} // namespace thalweg::felix
