#include "thalweg/felix/block_writer.h"

#include <algorithm>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/units.h"

namespace thalweg::felix {

BlockWriter::BlockWriter(BlockFormat const& format, std::uint16_t elink, Sink sink, std::uint8_t first_sequence)
    : format_(format), elink_(elink), sink_(std::move(sink)), block_(format.block_bytes),
      first_sequence_(first_sequence) {}

void BlockWriter::write(std::span<std::byte const> packet, std::uint32_t flags) {
    put(packet, ChunkType::last, ChunkType::both, flags);
    is_open_ = false;
}

void BlockWriter::write_part(std::span<std::byte const> piece) {
    put(piece, ChunkType::middle, ChunkType::first, 0);
    is_open_ = true;
}

void BlockWriter::write_timed_out(std::span<std::byte const> piece, std::uint32_t flags) {
    put(piece, ChunkType::timeout, ChunkType::timeout, flags | Trailer::kTruncated);
    is_open_ = false;
}

void BlockWriter::flush() {
    if (!is_empty()) pad();
}

void BlockWriter::pad() {
    auto const padding_bytes = free_bytes() - format_.trailer_bytes;
    std::fill_n(block_.begin() + used_bytes_, padding_bytes, std::byte{0});
    used_bytes_ += padding_bytes;
    put_trailer(Trailer::make(ChunkType::timeout, padding_bytes));
    hand_over_if_full();
}

// `last` is the type of the final piece if others precede it, `whole` if it is the only one.
void BlockWriter::put(std::span<std::byte const> bytes, ChunkType last, ChunkType whole, std::uint32_t flags) {
    // There is always room for one byte and its trailer: a block with less room is handed over at once.
    for (auto room = free_bytes() - format_.trailer_bytes; bytes.size() > room;
         room = free_bytes() - format_.trailer_bytes) {
        put_chunk(bytes.first(room), Trailer::make(is_open_ ? ChunkType::middle : ChunkType::first, room));
        bytes = bytes.subspan(room);
        is_open_ = true;
    }
    put_chunk(bytes, Trailer::make(is_open_ ? last : whole, static_cast<std::uint32_t>(bytes.size()), flags));
}

void BlockWriter::put_chunk(std::span<std::byte const> bytes, Trailer trailer) {
    THALWEG_ASSERT(bytes.size() + format_.trailer_bytes <= free_bytes(), "a chunk and its trailer fit into the block");
    std::copy(bytes.begin(), bytes.end(), block_.begin() + used_bytes_);
    auto const padded_bytes = static_cast<std::uint32_t>(base::round_up(bytes.size(), format_.trailer_bytes));
    std::fill_n(block_.begin() + used_bytes_ + static_cast<std::uint32_t>(bytes.size()), padded_bytes - bytes.size(),
                std::byte{0});
    used_bytes_ += padded_bytes;
    put_trailer(trailer);
    if (free_bytes() == format_.trailer_bytes) put_trailer(Trailer::make(ChunkType::null, 0));
    hand_over_if_full();
}

void BlockWriter::put_trailer(Trailer trailer) {
    auto const narrow = trailer.narrow();
    if (format_.trailer_bytes == sizeof narrow) {
        std::memcpy(block_.data() + used_bytes_, &narrow, sizeof narrow);
    } else {
        std::memcpy(block_.data() + used_bytes_, &trailer.word, sizeof trailer.word);
    }
    used_bytes_ += format_.trailer_bytes;
    THALWEG_ASSERT(used_bytes_ <= format_.block_bytes, "a block ends with a trailer");
}

void BlockWriter::hand_over_if_full() {
    if (free_bytes() > 0) return;
    auto const sequence = static_cast<std::uint8_t>((first_sequence_ + blocks_) % kSequences);
    auto const word = BlockHeader{elink_, sequence, format_.magic}.word();
    std::memcpy(block_.data(), &word, sizeof word);
    ++blocks_;
    used_bytes_ = kBlockHeaderBytes;
    sink_(block_);
}

} // namespace thalweg::felix
