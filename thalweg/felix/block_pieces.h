// What lies in a block, in the plainest way: for the card, which needs to know what it sent, and for tests. The way at
// speed is decoder.h, which shares nothing with this one, so that each can judge the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "thalweg/felix/block.h"

namespace thalweg::felix {

struct Piece {
    Trailer trailer;
    std::uint32_t begin = 0; // offset of its payload in the block
    std::uint32_t size_bytes = 0;

    bool begins_packet() const { return trailer.type() == ChunkType::first || trailer.type() == ChunkType::both; }
    // Not of a timeout that carries data: it may be the end of an open packet, or a whole one.
    bool continues_packet() const { return trailer.type() == ChunkType::middle || trailer.type() == ChunkType::last; }
    bool ends_packet() const {
        return trailer.type() == ChunkType::last || trailer.type() == ChunkType::both || is_cut();
    }
    bool is_cut() const { return trailer.type() == ChunkType::timeout && trailer.truncated(); }
    bool carries_data() const { return begins_packet() || continues_packet() || is_cut(); }
};

// In the order of the bytes, NULL and padding included; none where the trailers do not lead to the header.
std::optional<std::vector<Piece>> pieces_of(BlockFormat const& format, std::byte const* block);

} // namespace thalweg::felix
