// Walks over contiguous blocks. Decoding goes backwards through each block, which defeats the processor's own
// prefetching, so blocks that will be decoded are prefetched some time before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "thalweg/felix/block.h"

namespace thalweg::felix {

// Calls `visit(block, header)` for each block until it returns false. `is_wanted(elink)` tells which blocks will be
// decoded. Returns the number of blocks that were visited with success.
template <typename IsWanted, typename Visit>
std::uint64_t walk_blocks(std::byte const* first, std::uint64_t count, std::uint32_t block_bytes,
                          IsWanted const& is_wanted, Visit const& visit) {
    constexpr std::uint64_t kHeadersAhead = 16, kBlocksAhead = 3;
    for (std::uint64_t done = 0; done < count; ++done) {
        auto const* const block = first + done * block_bytes;
        if (done + kHeadersAhead < count) __builtin_prefetch(block + kHeadersAhead * block_bytes);
        if (auto const* const ahead = block + kBlocksAhead * block_bytes;
            done + kBlocksAhead < count && is_wanted(BlockHeader::parse(ahead).elink)) {
            for (std::uint32_t offset = 0; offset < block_bytes; offset += 64) __builtin_prefetch(ahead + offset);
        }
        if (!visit(block, BlockHeader::parse(block))) return done;
    }
    return count;
}

} // namespace thalweg::felix
