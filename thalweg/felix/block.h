// The blocks in which a FELIX card hands over its data (docs/formats/felix.md). A block belongs to one e-link. It holds
// a header of 4 bytes and pieces of packets ("chunks"), each followed by its trailer, so a reader starts at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace thalweg::felix {

inline constexpr std::uint32_t kElinks = 2048;  // e-link numbers have 11 bits
inline constexpr std::uint32_t kSequences = 32; // the block sequence numbers of an e-link have 5 bits
inline constexpr std::uint32_t kBlockHeaderBytes = 4;
inline constexpr std::uint32_t kMaxBlockBytes = 64 * 1024;
// Decoders and DMA buffers keep so many bytes readable behind every packet, so that it can be copied in whole vectors.
inline constexpr std::uint32_t kReadableBehind = 64;

// The properties of a block that its magic number gives.
struct BlockFormat {
    std::uint16_t magic = 0xC0CE;
    std::uint32_t block_bytes = 1024;
    std::uint32_t trailer_bytes = 4;

    bool operator==(BlockFormat const&) const = default;
};

// Returns the format of a magic number. 0xABCD: 1 kB, trailers of 16 bits; 0xABCE: 1 kB, 32 bits; 0xC0CE with a size
// code in bits 8 to 13: 1 to 64 kB.
std::optional<BlockFormat> format_of_magic(std::uint16_t magic);

// Returns how many chunks, and so packets, a block may hold.
constexpr std::uint32_t most_packets(BlockFormat const& format) {
    return (format.block_bytes - kBlockHeaderBytes) / format.trailer_bytes;
}

// Parses "abcd", "abce", or "c0ce" with `block_bytes`, a multiple of 1024. Throws base::UsageError for anything else.
BlockFormat parse_format(std::string_view name, std::uint32_t block_bytes = 1024);

struct BlockHeader {
    std::uint16_t elink = 0;
    std::uint8_t sequence = 0;
    std::uint16_t magic = 0;

    static BlockHeader parse(std::byte const* block) {
        std::uint32_t word;
        std::memcpy(&word, block, sizeof word);
        return {static_cast<std::uint16_t>(word & 0x7FF), static_cast<std::uint8_t>(word >> 11 & 0x1F),
                static_cast<std::uint16_t>(word >> 16)};
    }
    std::uint32_t word() const {
        return static_cast<std::uint32_t>(magic) << 16 | static_cast<std::uint32_t>(sequence) << 11 | elink;
    }
};

enum class ChunkType : std::uint8_t { null, first, last, both, middle, timeout, undefined, out_of_band };

// A trailer of either width, in the form of the wide one. The narrow one has no `busy` bit.
struct Trailer {
    static constexpr std::uint32_t kBusy = 1u << 25;
    static constexpr std::uint32_t kCrc = 1u << 26;
    static constexpr std::uint32_t kError = 1u << 27;
    static constexpr std::uint32_t kTruncated = 1u << 28;

    std::uint32_t word = 0;

    static Trailer make(ChunkType type, std::uint32_t length_bytes, std::uint32_t flags = 0) {
        return {static_cast<std::uint32_t>(type) << 29 | flags | length_bytes};
    }
    static constexpr Trailer from_narrow(std::uint16_t narrow) {
        return {static_cast<std::uint32_t>(narrow & 0xE000) << 16 | static_cast<std::uint32_t>(narrow & 0x1C00) << 16 |
                static_cast<std::uint32_t>(narrow & 0x3FF)};
    }
    std::uint16_t narrow() const { return static_cast<std::uint16_t>(word >> 16 & 0xFC00) | (word & 0x3FF); }

    ChunkType type() const { return static_cast<ChunkType>(word >> 29); }
    std::uint32_t flags() const { return word & (kBusy | kCrc | kError | kTruncated); }
    // Returns the length field. NULL and OUT-OF-BAND carry no data whatever this field says.
    std::uint32_t length_field() const { return word & 0xFFFF; }
    bool truncated() const { return (word & kTruncated) != 0; }
};

} // namespace thalweg::felix
