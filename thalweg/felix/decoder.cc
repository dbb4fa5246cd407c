#include "thalweg/felix/decoder.h"

#include <algorithm>

#include "thalweg/base/assert.h"
#include "thalweg/base/units.h"

namespace thalweg::felix {
namespace {

template <std::uint32_t kTrailerBytes> Trailer load_trailer(std::byte const* place) {
    if constexpr (kTrailerBytes == 2) {
        std::uint16_t narrow;
        std::memcpy(&narrow, place, sizeof narrow);
        return Trailer::from_narrow(narrow);
    } else {
        Trailer trailer;
        std::memcpy(&trailer.word, place, sizeof trailer.word);
        return trailer;
    }
}

bool carries_nothing(ChunkType type) { return type == ChunkType::null || type == ChunkType::out_of_band; }

} // namespace

StreamDecoder::StreamDecoder(BlockFormat const& format, std::uint32_t max_packet_bytes)
    : format_(format), max_packet_bytes_(max_packet_bytes), packets_(most_packets(format)) {}

std::span<Packet const> StreamDecoder::decode(std::byte const* block) {
    counters_.blocks.add(1);
    check_sequence(BlockHeader::parse(block).sequence);
    first_packet_ = end_packet_ = packets_.size();
    pieces_.clear();
    guessed_right_ = 0;
    bool const whole = format_.trailer_bytes == 2 ? speculate_ ? walk<2, true>(block) : walk<2, false>(block)
                       : speculate_ ? walk<4, true>(block)
                                                  : walk<4, false>(block);
    if (!whole) {
        counters_.bad_blocks.add(1);
        drop_open();
        return {};
    }
    THALWEG_ASSERT(first_packet_ <= end_packet_, "a block has room for the packets that its trailers name");
    auto const packets = end_packet_ - first_packet_;
    speculate_ = guessed_right_ * std::size_t{8} >= packets * 7;
    if (!pieces_.empty() || (is_open_ && packets != 0)) join_pieces(block);
    return {packets_.data() + first_packet_, end_packet_ - first_packet_};
}

// Walks from the block's end to its header. The place of the next trailer depends on the length in this one, so the
// loads wait for each other. If the lengths of a stream repeat, a comparison with the last one lets the processor run
// ahead.
template <std::uint32_t kTrailerBytes, bool kSpeculate> bool StreamDecoder::walk(std::byte const* block) {
    std::uint32_t end = format_.block_bytes;
    auto* const begin_of_packets = packets_.data();
    auto* packet = begin_of_packets + packets_.size();
    Packet last; // the packet behind this one, and its trailer
    std::uint32_t last_word = 0, last_stored = format_.block_bytes, all_flags = 0, right = 0;
    std::uint64_t bytes = 0;
    while (end > kBlockHeaderBytes) {
        auto const trailer = load_trailer<kTrailerBytes>(block + end - kTrailerBytes);
        if (trailer.word == last_word && last_stored + kBlockHeaderBytes <= end) {
            ++right;
            if constexpr (kSpeculate) {
                end -= last_stored;
                last.data = block + end;
                *--packet = last;
                bytes += last.size_bytes;
                continue;
            }
        }
        auto const type = trailer.type();
        // The next trailer waits for this sum, and for nothing else.
        auto const field = trailer.length_field();
        auto const stored = (field + 2 * kTrailerBytes - 1) & ~(kTrailerBytes - 1);
        if (type == ChunkType::both) [[likely]] {
            if (stored + kBlockHeaderBytes > end) [[unlikely]]
                return false;
            end -= stored;
            last = {block + end, field, trailer.flags()};
            *--packet = last;
            last_word = trailer.word;
            last_stored = stored;
            all_flags |= trailer.word;
            bytes += field;
            continue;
        }
        auto const chunk = carries_nothing(type) ? kTrailerBytes : stored;
        if (chunk + kBlockHeaderBytes > end) [[unlikely]]
            return false;
        end -= chunk;
        if (type == ChunkType::out_of_band) counters_.out_of_band.add(1);
        if (type == ChunkType::timeout) counters_.timeouts.add(1);
        if (carries_nothing(type) || (type == ChunkType::timeout && !trailer.truncated())) continue;
        *--packet = {};
        pieces_.push_back({static_cast<std::uint32_t>(packet - begin_of_packets), end, trailer.word});
    }
    if (end != kBlockHeaderBytes) return false;
    first_packet_ = static_cast<std::size_t>(packet - begin_of_packets);
    guessed_right_ = right;
    counters_.packets.add(end_packet_ - first_packet_ - pieces_.size());
    counters_.payload_bytes.add(bytes);
    if ((all_flags & Trailer{~0u}.flags()) != 0) {
        for (auto at = first_packet_; at < end_packet_; ++at) count(packets_[at].flags);
    }
    return true;
}

void StreamDecoder::check_sequence(std::uint8_t sequence) {
    if (started_ && sequence != next_sequence_) {
        counters_.sequence_gaps.add(1);
        counters_.lost_blocks.add((sequence - next_sequence_) & (kSequences - 1));
        drop_open();
    }
    started_ = true;
    next_sequence_ = (sequence + 1) & (kSequences - 1);
}

void StreamDecoder::restart() {
    drop_open();
    started_ = false;
}

// Joins the chunks in forward order. A whole packet between two chunks means that these do not belong together.
void StreamDecoder::join_pieces(std::byte const* block) {
    last_join_ = (last_join_ + 1) % kKeptJoins;
    auto& joined = joins_[last_join_];
    joined.clear();
    std::size_t next_slot = first_packet_;
    for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
        if (piece->slot != next_slot) drop_open();
        join(block, *piece);
        next_slot = piece->slot + 1;
    }
    if (next_slot != end_packet_) drop_open();
    // From here on `joined` does not move.
    for (auto const& piece : pieces_) {
        auto& packet = packets_[piece.slot];
        if (packet.data != nullptr) packet.data = joined.data() + (reinterpret_cast<std::uintptr_t>(packet.data) - 1);
    }
    close_gaps();
}

void StreamDecoder::join(std::byte const* block, OpenPiece const& piece) {
    Trailer const trailer{piece.word};
    auto const* const data = block + piece.offset;
    switch (trailer.type()) {
    case ChunkType::first:
        drop_open();
        is_open_ = true;
        append_open(data, trailer);
        return;
    case ChunkType::middle:
    case ChunkType::last:
        if (!is_open_) {
            counters_.dropped_chunks.add(1);
            return;
        }
        append_open(data, trailer);
        if (trailer.type() == ChunkType::last) end_open(packets_[piece.slot]);
        return;
    case ChunkType::timeout: // truncated: the end of the open packet, or a whole packet
        is_open_ = true;
        append_open(data, trailer);
        end_open(packets_[piece.slot]);
        return;
    case ChunkType::both:
    case ChunkType::null:
    case ChunkType::undefined:
    case ChunkType::out_of_band:
        counters_.undefined.add(1);
        drop_open();
    }
}

void StreamDecoder::append_open(std::byte const* data, Trailer trailer) {
    auto const room = max_packet_bytes_ - open_.size();
    auto const bytes = std::min<std::size_t>(trailer.length_field(), room);
    open_.reserve(open_.size() + bytes + kReadableBehind);
    open_.insert(open_.end(), data, data + bytes);
    open_flags_ |= trailer.flags();
    if (bytes < trailer.length_field()) open_flags_ |= Trailer::kTruncated;
}

void StreamDecoder::end_open(Packet& packet) {
    THALWEG_ASSERT(is_open_ && open_.size() <= max_packet_bytes_, "a packet ends once, and has its limit");
    auto& joined = joins_[last_join_];
    // The value is the place in `joined`, plus 1, until that stops growing. Null means a slot without a packet.
    auto const place = reinterpret_cast<std::byte const*>(joined.size() + 1); // NOLINT(performance-no-int-to-ptr)
    packet = {place, static_cast<std::uint32_t>(open_.size()), open_flags_};
    counters_.packets.add(1);
    counters_.payload_bytes.add(open_.size());
    count(open_flags_);
    if (joined.empty()) { // the usual case
        joined.swap(open_);
    } else {
        joined.reserve(joined.size() + open_.size() + kReadableBehind);
        joined.insert(joined.end(), open_.begin(), open_.end());
    }
    open_.clear();
    open_flags_ = 0;
    is_open_ = false;
}

void StreamDecoder::drop_open() {
    if (is_open_) counters_.dropped_chunks.add(1);
    is_open_ = false;
    open_.clear();
    open_flags_ = 0;
}

// Removes the slots of chunks that ended no packet. Usually these are the first and the last one.
void StreamDecoder::close_gaps() {
    while (first_packet_ < end_packet_ && packets_[first_packet_].data == nullptr) ++first_packet_;
    while (first_packet_ < end_packet_ && packets_[end_packet_ - 1].data == nullptr) --end_packet_;
    auto const begin = packets_.begin() + static_cast<std::ptrdiff_t>(first_packet_);
    auto const end = packets_.begin() + static_cast<std::ptrdiff_t>(end_packet_);
    auto const is_gap = [](Packet const& it) { return it.data == nullptr; };
    if (std::any_of(begin, end, is_gap)) {
        end_packet_ = static_cast<std::size_t>(std::remove_if(begin, end, is_gap) - packets_.begin());
    }
}

void StreamDecoder::count(std::uint32_t flags) {
    if (flags == 0) return;
    if ((flags & Trailer::kCrc) != 0) counters_.crc_errors.add(1);
    if ((flags & Trailer::kError) != 0) counters_.errors.add(1);
    if ((flags & Trailer::kTruncated) != 0) counters_.truncated.add(1);
    if ((flags & Trailer::kBusy) != 0) counters_.busy.add(1);
}

} // namespace thalweg::felix
