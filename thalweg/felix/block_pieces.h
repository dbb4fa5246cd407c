// Finds the chunks of a block in the simplest way, for the card, which needs to know what it sent, and for tests. The
// fast way is decoder.h, which shares no code with this one, so that each can check the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "thalweg/felix/block.h"

namespace thalweg::felix {

struct BlockPiece {
    Trailer trailer;
    std::uint32_t begin = 0; // offset of its payload in the block
    std::uint32_t size_bytes = 0;

    bool begins_packet() const { return trailer.type() == ChunkType::first || trailer.type() == ChunkType::both; }
    // A timeout that carries data does not count: it may end an open packet, or be a whole one.
    bool continues_packet() const { return trailer.type() == ChunkType::middle || trailer.type() == ChunkType::last; }
    bool ends_packet() const {
        return trailer.type() == ChunkType::last || trailer.type() == ChunkType::both || is_cut();
    }
    bool is_cut() const { return trailer.type() == ChunkType::timeout && trailer.truncated(); }
    bool carries_data() const { return begins_packet() || continues_packet() || is_cut(); }
};

// Returns the chunks in the order of their bytes, NULL and padding included, or nothing if the trailers do not lead to
// the header.
std::optional<std::vector<BlockPiece>> pieces_of(BlockFormat const& format, std::byte const* block);

} // namespace thalweg::felix
