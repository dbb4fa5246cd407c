#include "thalweg/felix/block_pieces.h"

#include <algorithm>

#include "thalweg/base/units.h"

namespace thalweg::felix {
namespace {

Trailer trailer_at(BlockFormat const& format, std::byte const* bytes) {
    std::uint16_t narrow;
    Trailer wide;
    std::memcpy(&narrow, bytes, sizeof narrow);
    if (format.trailer_bytes == sizeof narrow) return Trailer::from_narrow(narrow);
    std::memcpy(&wide.word, bytes, sizeof wide.word);
    return wide;
}

} // namespace

std::optional<std::vector<BlockPiece>> pieces_of(BlockFormat const& format, std::byte const* block) {
    std::vector<BlockPiece> pieces;
    for (auto end = format.block_bytes; end > kBlockHeaderBytes;) {
        end -= format.trailer_bytes;
        auto const trailer = trailer_at(format, block + end);
        bool const is_empty = trailer.type() == ChunkType::null || trailer.type() == ChunkType::out_of_band;
        auto const size_bytes = is_empty ? 0 : trailer.length_field();
        auto const padded_bytes = static_cast<std::uint32_t>(base::round_up(size_bytes, format.trailer_bytes));
        if (padded_bytes + kBlockHeaderBytes > end) return std::nullopt;
        end -= padded_bytes;
        pieces.push_back({trailer, end, size_bytes});
    }
    std::ranges::reverse(pieces);
    return pieces;
}

} // namespace thalweg::felix
