#include "thalweg/codec/root_blocks.h"

#include "thalweg/codec/big_endian.h"
#include "thalweg/codec/root_codec.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <xxhash.h>

namespace thalweg::codec {
namespace {

constexpr std::size_t kRootHeadBytes = 9;
constexpr std::size_t kChunkBytes = 0xffffff; // what three bytes can tell
constexpr std::array<std::string_view, RootBlocks::kAlgorithms> kTags = {
    std::string_view("ZL\x08", 3), std::string_view("XZ\0", 3), std::string_view("L4\1", 3),
    std::string_view("ZS\1", 3)};

void put_size(std::byte* to, std::size_t size) {
    for (std::size_t i = 0; i < 3; ++i) to[i] = std::byte(size >> (8 * i));
}

std::size_t get_size(std::byte const* from) {
    return std::to_integer<std::size_t>(from[0]) | std::to_integer<std::size_t>(from[1]) << 8 |
           std::to_integer<std::size_t>(from[2]) << 16;
}

RootBlocks::Algorithm algorithm_of(Compression compression) {
    switch (compression) {
    case Compression::deflate:
        return RootBlocks::zlib;
    case Compression::lz4:
        return RootBlocks::lz4;
    default:
        return RootBlocks::zstd;
    }
}

// An LZ4 block behind its XXH64, big-endian.
class ChecksummedLz4 : public Compressor {
  public:
    std::size_t bound_bytes(std::size_t raw_bytes) const override {
        return kChecksumBytes + block_->bound_bytes(raw_bytes);
    }

    std::size_t compress(std::span<std::byte const> raw, std::span<std::byte> out) override {
        auto const size = block_->compress(raw, out.subspan(kChecksumBytes));
        if (size == 0) return 0;
        put_big_endian<std::uint64_t>(out.data(), XXH64(out.data() + kChecksumBytes, size, 0));
        return kChecksumBytes + size;
    }

    char const* decompress(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        if (stored.size() < kChecksumBytes) return "an LZ4 block is cut short";
        auto const block = stored.subspan(kChecksumBytes);
        if (get_big_endian<std::uint64_t>(stored.data()) != XXH64(block.data(), block.size(), 0)) {
            return "the checksum of an LZ4 block does not fit";
        }
        return block_->decompress(block, raw);
    }

  private:
    static constexpr std::size_t kChecksumBytes = 8;
    std::unique_ptr<Compressor> block_ = make_lz4_block();
};

std::unique_ptr<Compressor> make_algorithm(RootBlocks::Algorithm algorithm, int level) {
    switch (algorithm) {
    case RootBlocks::zlib:
        return make_deflate(level);
    case RootBlocks::lzma:
        return make_lzma();
    case RootBlocks::lz4:
        return std::make_unique<ChecksummedLz4>();
    default:
        return make_zstd(level);
    }
}

RootBlocks::Algorithm algorithm_at(std::span<std::byte const> head, std::size_t offset) {
    std::string_view const tag(reinterpret_cast<char const*>(head.data()), 3);
    auto const found = std::find(kTags.begin(), kTags.end(), tag);
    if (found == kTags.end()) fail_page(offset, "no compression block of zlib, lzma, lz4 or zstd begins there");
    return static_cast<RootBlocks::Algorithm>(found - kTags.begin());
}

} // namespace

int default_root_level(Compression compression) {
    switch (compression) {
    case Compression::deflate:
        return 1;
    case Compression::lz4:
        return 4;
    case Compression::zstd:
        return 5;
    default:
        return 0;
    }
}

RootBlocks::RootBlocks(Compression compression, int level) : algorithm_(algorithm_of(compression)) {
    if (compression == Compression::none) return;
    auto const used_level = level == 0 ? default_root_level(compression) : level;
    writer_ = make_algorithm(algorithm_, used_level);
    if (algorithm_ == zstd) plane_writer_.emplace(used_level);
}

std::size_t RootBlocks::bound_bytes(std::size_t raw_bytes, std::size_t planes) const {
    if (!compresses()) return raw_bytes;
    auto const chunks = raw_bytes / kChunkBytes + 1;
    auto const bound = chunks * (kRootHeadBytes + writer_->bound_bytes(std::min(raw_bytes, kChunkBytes)));
    if (!plane_writer_ || !ZstdPlanes::fits(raw_bytes, planes)) return bound;
    return std::max(bound, planes * kRootHeadBytes + plane_writer_->bound_bytes(raw_bytes, planes));
}

std::size_t RootBlocks::compress(std::span<std::byte const> raw, std::size_t planes, std::span<std::byte> out) {
    if (!compresses()) return 0;
    if (plane_writer_ && ZstdPlanes::fits(raw.size(), planes)) return compress_planes(raw, planes, out);
    std::size_t at = 0;
    while (!raw.empty()) {
        auto const chunk = raw.first(std::min(raw.size(), kChunkBytes));
        auto* const head = out.data() + at;
        auto const size = writer_->compress(chunk, out.subspan(at + kRootHeadBytes));
        if (size == 0 || kRootHeadBytes + size >= chunk.size()) return 0;
        put_head(head, size, chunk.size());
        at += kRootHeadBytes + size;
        raw = raw.subspan(chunk.size());
    }
    return at;
}

std::size_t RootBlocks::compress_planes(std::span<std::byte const> raw, std::size_t planes, std::span<std::byte> out) {
    std::size_t at = 0;
    for (auto const& frame : plane_writer_->compress(raw, planes, kRootHeadBytes, out)) {
        put_head(out.data() + at, frame.stored_bytes, frame.raw_bytes);
        at += kRootHeadBytes + frame.stored_bytes;
    }
    return at;
}

void RootBlocks::put_head(std::byte* to, std::size_t stored_bytes, std::size_t raw_bytes) const {
    std::memcpy(to, kTags[algorithm_].data(), 3);
    put_size(to + 3, stored_bytes);
    put_size(to + 6, raw_bytes);
}

void RootBlocks::decompress(std::span<std::byte const> stored, std::span<std::byte> raw) {
    std::size_t at = 0;
    while (!raw.empty()) {
        auto const rest = stored.subspan(at);
        if (rest.size() < kRootHeadBytes) fail_page(at, "a compression block is cut short");
        auto& reader = decompressor(algorithm_at(rest, at));
        auto const size = get_size(rest.data() + 3), raw_size = get_size(rest.data() + 6);
        if (size > rest.size() - kRootHeadBytes) fail_page(at, "a compression block is cut short");
        if (raw_size == 0 || raw_size > raw.size()) fail_page(at, "a compression block tells of another size");
        auto const* const why = reader.decompress(rest.subspan(kRootHeadBytes, size), raw.first(raw_size));
        if (why != nullptr) fail_page(at, why);
        at += kRootHeadBytes + size;
        raw = raw.subspan(raw_size);
    }
    if (at != stored.size()) fail_page(at, "bytes follow the last compression block");
}

Compressor& RootBlocks::decompressor(Algorithm algorithm) {
    if (writer_ && algorithm == algorithm_) return *writer_;
    auto& reader = readers_[algorithm];
    if (!reader) reader = make_algorithm(algorithm, 1);
    return *reader;
}

void decompress_root_blocks(std::span<std::byte const> stored, std::span<std::byte> raw) {
    RootBlocks().decompress(stored, raw);
}

} // namespace thalweg::codec
