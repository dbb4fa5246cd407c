// Decodes the blocks of one e-link into packets.
#pragma once

#include <array>
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
    std::uint32_t flags = 0; // Trailer::kCrc, kError, kTruncated, kBusy, if any of its chunks has it
};

// Counters of the packets and of what was wrong with them. Any thread may read them while the decoder works.
struct StreamCounters {
    base::SharedNumber blocks;
    base::SharedNumber packets;       // handed on, complete or flagged
    base::SharedNumber payload_bytes; // payload of these packets
    base::SharedNumber sequence_gaps; // blocks whose sequence number was not the next one
    // A lower limit of the blocks lost in these gaps; 32 and its multiples are invisible.
    base::SharedNumber lost_blocks;
    base::SharedNumber
        bad_blocks; // blocks that were dropped because their trailers do not lead from the end to the header
    base::SharedNumber dropped_chunks; // chunks without their beginning or end: after a gap, a restart or a bad block
    base::SharedNumber crc_errors;     // packets with this flag
    base::SharedNumber errors;
    base::SharedNumber truncated;
    base::SharedNumber busy;
    base::SharedNumber timeouts;
    base::SharedNumber out_of_band;
    base::SharedNumber undefined; // trailers of type 6
};

// Decodes packets in the order in which they came. A packet that lies completely in one block is a view into this
// block. Others are joined in a buffer of the decoder, which keeps them for so many calls. Longer packets are cut at
// `max_packet_bytes` and flagged as truncated.
class StreamDecoder {
  public:
    static constexpr std::size_t kKeptJoins = 8;

    explicit StreamDecoder(BlockFormat const& format, std::uint32_t max_packet_bytes = 1u << 20);

    // `block` has the size of the format and a header with this e-link. The returned span is valid until the next call;
    // the bytes of its packets are there while the block is, and for kKeptJoins - 1 more calls.
    std::span<Packet const> decode(std::byte const* block);

    // Begins again with another card: any sequence number is accepted, and the open packet has lost its end.
    void restart();

    StreamCounters const& counters() const { return counters_; }

  private:
    // A chunk that is not a whole packet, and its slot among the packets of the block.
    struct OpenPiece {
        std::uint32_t slot;
        std::uint32_t offset;
        std::uint32_t word;
    };

    template <std::uint32_t kTrailerBytes, bool kSpeculate> bool walk(std::byte const* block);
    void check_sequence(std::uint8_t sequence);
    void join_pieces(std::byte const* block);
    void join(std::byte const* block, OpenPiece const& piece);
    void end_open(Packet& packet);
    void append_open(std::byte const* data, Trailer trailer);
    void drop_open();
    void close_gaps();
    void count(std::uint32_t flags);

    BlockFormat format_;
    std::uint32_t max_packet_bytes_;
    StreamCounters counters_;
    std::vector<Packet> packets_; // packets of the last block, at the end of the vector
    std::size_t first_packet_ = 0;
    std::size_t end_packet_ = 0;
    std::vector<OpenPiece> pieces_; // chunks of the last block, the last one first
    std::vector<std::byte> open_;   // a packet whose end has not come
    // Packets that were joined from chunks: those of the last block, and of some before it.
    std::array<std::vector<std::byte>, kKeptJoins> joins_;
    std::size_t last_join_ = 0;
    std::uint32_t open_flags_ = 0;
    std::uint32_t guessed_right_ = 0; // in the last block: number of chunks that were as long as the one behind them
    bool is_open_ = false;
    bool started_ = false;
    bool speculate_ = true;
    std::uint8_t next_sequence_ = 0;
};

} // namespace thalweg::felix
