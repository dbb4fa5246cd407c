#include "thalweg/felix/link_books.h"

#include <utility>

#include "thalweg/base/assert.h"

namespace thalweg::felix {

void LinkBooks::published(std::byte const* block) {
    see_header(block);
    auto const pieces = *pieces_of(format_, block);
    for (auto const& piece : pieces) {
        read(piece);
        if (piece.ends_packet()) open_is_destroyed_ = false;
    }
}

void LinkBooks::lost(std::byte const* block) {
    ++tally.faults.lost_blocks;
    unnoticed_ += destroy(block);
}

void LinkBooks::garbled(std::byte const* block) {
    see_header(block);
    ++tally.faults.garbage_blocks;
    is_open_ = false;
    destroy(block);
}

void LinkBooks::close() { tally.faults.undetectable += std::exchange(unnoticed_, 0); }

void LinkBooks::see_header(std::byte const* block) {
    auto const sequence = BlockHeader::parse(block).sequence;
    ++tally.blocks;
    bool const shows_gap = started_ && sequence != next_sequence_;
    if (shows_gap) is_open_ = false;
    THALWEG_ASSERT(started_ || tally.blocks == 1, "the first block of a link starts its accounts");
    auto const lost = std::exchange(unnoticed_, 0);
    if (!shows_gap) tally.faults.undetectable += lost;
    next_sequence_ = static_cast<std::uint8_t>((sequence + 1) % kSequences);
    started_ = true;
}

void LinkBooks::read(BlockPiece const& piece) {
    if (!piece.carries_data()) return;
    // A timeout that carries data counts as a packet even if its beginning was lost: it does not show that.
    bool const is_part_of_one = piece.begins_packet() || piece.is_cut() || is_open_;
    if (is_part_of_one && piece.ends_packet()) ++tally.packets;
    is_open_ = is_part_of_one && !piece.ends_packet();
}

// Counts the packets that have a part in `block`; each one once, however many of its blocks are lost.
std::uint64_t LinkBooks::destroy(std::byte const* block) {
    std::uint64_t packets = 0;
    auto const pieces = *pieces_of(format_, block);
    for (auto const& piece : pieces) {
        if (!piece.carries_data()) continue;
        if (!open_is_destroyed_) ++packets;
        open_is_destroyed_ = !piece.ends_packet();
    }
    tally.faults.packets_in_lost_blocks += packets;
    return packets;
}

} // namespace thalweg::felix
