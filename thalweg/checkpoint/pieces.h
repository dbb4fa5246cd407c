// Pages are read and checked in pieces, and written in groups of pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "thalweg/base/units.h"

namespace thalweg::checkpoint {

// Pieces end where the offset in the file is a multiple of that, and at the end of the page.
inline constexpr std::uint64_t kPieceBytes = base::kMiB;

// Writes end at multiples of this, which is a multiple of a piece. A file system whose blocks were allocated before
// notes after each write that they have bytes now: several pieces in one write are noted once.
inline constexpr std::uint64_t kWriteBytes = 2 * base::kMiB;

// A piece of a page, or a group of pieces that are written at once.
struct PagePiece {
    std::uint64_t offset = 0; // in the file
    std::uint64_t size_bytes = 0;
};

inline std::uint64_t piece_count(std::uint64_t offset, std::uint64_t size_bytes) {
    if (size_bytes == 0) return 0;
    return (offset + size_bytes - 1) / kPieceBytes - offset / kPieceBytes + 1;
}

inline PagePiece piece_of(std::uint64_t offset, std::uint64_t size_bytes, std::uint64_t number) {
    auto const grid = base::round_down(offset, kPieceBytes) + number * kPieceBytes;
    auto const begin = std::max(offset, grid);
    return {begin, std::min(offset + size_bytes, grid + kPieceBytes) - begin};
}

inline std::vector<PagePiece> pieces_of(std::uint64_t offset, std::uint64_t size_bytes) {
    std::vector<PagePiece> pieces;
    auto const count = piece_count(offset, size_bytes);
    for (std::uint64_t i = 0; i < count; ++i) pieces.push_back(piece_of(offset, size_bytes, i));
    return pieces;
}

// Each has whole pieces of `pieces_of`, in the same order.
inline std::vector<PagePiece> groups_of(std::uint64_t offset, std::uint64_t size_bytes) {
    std::vector<PagePiece> groups;
    for (auto at = offset; at < offset + size_bytes;) {
        auto const end = std::min(base::round_down(at, kWriteBytes) + kWriteBytes, offset + size_bytes);
        groups.push_back({at, end - at});
        at = end;
    }
    return groups;
}

} // namespace thalweg::checkpoint
