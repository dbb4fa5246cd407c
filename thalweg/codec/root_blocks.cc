#include "thalweg/codec/root_blocks.h"

#include "thalweg/base/assert.h"
#include "thalweg/codec/big_endian.h"
#include "thalweg/codec/root_codec.h"
#include "thalweg/codec/steady_lz4.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <xxhash.h>

namespace thalweg::codec {
namespace {

constexpr std::size_t kRootHeadBytes = 9;
constexpr std::size_t kChunkBytes = 0xffffff; // what three bytes can tell

void put_size(std::byte* to, std::size_t size) {
    for (std::size_t i = 0; i < 3; ++i) to[i] = std::byte(size >> (8 * i));
}

std::size_t get_size(std::byte const* from) {
    return std::to_integer<std::size_t>(from[0]) | std::to_integer<std::size_t>(from[1]) << 8 |
           std::to_integer<std::size_t>(from[2]) << 16;
}

// The tag that a block of the algorithm begins with.
constexpr std::string_view tag_of(RootBlocks::Algorithm algorithm) {
    switch (algorithm) {
    case RootBlocks::zlib:
        return {"ZL\x08", 3};
    case RootBlocks::lzma:
        return {"XZ\0", 3};
    case RootBlocks::lz4:
        return {"L4\1", 3};
    case RootBlocks::zstd:
        return {"ZS\1", 3};
    }
    return {};
}

void put_head(std::byte* to, RootBlocks::Algorithm algorithm, std::size_t stored_bytes, std::size_t raw_bytes) {
    THALWEG_ASSERT(stored_bytes <= kChunkBytes && raw_bytes <= kChunkBytes, "three bytes tell the size of a block");
    std::memcpy(to, tag_of(algorithm).data(), 3);
    put_size(to + 3, stored_bytes);
    put_size(to + 6, raw_bytes);
}

// None if nothing is compressed.
std::optional<RootBlocks::Algorithm> algorithm_of(Compression compression) {
    switch (compression) {
    case Compression::none:
        return std::nullopt;
    case Compression::deflate:
        return RootBlocks::zlib;
    case Compression::lz4:
        return RootBlocks::lz4;
    case Compression::zstd:
        return RootBlocks::zstd;
    }
    return std::nullopt;
}

// The number of an algorithm in ROOT's compression settings.
std::uint32_t number_of(RootBlocks::Algorithm algorithm) {
    switch (algorithm) {
    case RootBlocks::zlib:
        return 1;
    case RootBlocks::lzma:
        return 2;
    case RootBlocks::lz4:
        return 4;
    case RootBlocks::zstd:
        return 5;
    }
    return 0;
}

constexpr std::size_t kLz4ChecksumBytes = 8;

void put_lz4_checksum(std::byte* to, std::size_t block_bytes) {
    put_big_endian<std::uint64_t>(to, XXH64(to + kLz4ChecksumBytes, block_bytes, 0));
}

// An LZ4 block behind its XXH64, big-endian.
class ChecksummedLz4 : public Compressor {
  public:
    std::size_t bound_bytes(std::size_t raw_bytes) const override {
        return kLz4ChecksumBytes + block_->bound_bytes(raw_bytes);
    }

    std::size_t compress(std::span<std::byte const> raw, std::span<std::byte> out) override {
        auto const size = block_->compress(raw, out.subspan(kLz4ChecksumBytes));
        if (size == 0) return 0;
        put_lz4_checksum(out.data(), size);
        return kLz4ChecksumBytes + size;
    }

    char const* decompress(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        if (stored.size() < kLz4ChecksumBytes) return "an LZ4 block is cut short";
        auto const block = stored.subspan(kLz4ChecksumBytes);
        if (get_big_endian<std::uint64_t>(stored.data()) != XXH64(block.data(), block.size(), 0)) {
            return "the checksum of an LZ4 block does not fit";
        }
        return block_->decompress(block, raw);
    }

  private:
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
    case RootBlocks::zstd:
        return make_zstd(level);
    }
    return nullptr;
}

RootBlocks::Algorithm algorithm_at(std::span<std::byte const> head, std::size_t offset) {
    std::string_view const tag(reinterpret_cast<char const*>(head.data()), 3);
    for (auto const algorithm : RootBlocks::kAlgorithms) {
        if (tag == tag_of(algorithm)) return algorithm;
    }
    fail_page(offset, "no compression block of zlib, lzma, lz4 or zstd begins there");
}

} // namespace

int default_root_level(Compression compression) {
    switch (compression) {
    case Compression::none:
        return 0;
    case Compression::deflate:
        return 1;
    case Compression::lz4:
        return 4;
    case Compression::zstd:
        return 5;
    }
    return 0;
}

std::uint32_t root_settings(Spec const& spec) {
    auto const algorithm = algorithm_of(spec.compression);
    if (!algorithm) return 0;
    auto const level = spec.level == 0 ? default_root_level(spec.compression) : spec.level;
    return 100 * number_of(*algorithm) + static_cast<std::uint32_t>(level);
}

std::optional<Spec> spec_of_root_settings(std::uint32_t settings) {
    Spec spec;
    if (settings / 100 == 0) return spec;
    for (auto const compression : kCompressions) {
        auto const algorithm = algorithm_of(compression);
        if (!algorithm || number_of(*algorithm) != settings / 100) continue;
        spec.compression = compression;
        if (default_level(compression) != 0) spec.level = static_cast<int>(settings % 100);
        return spec;
    }
    return std::nullopt;
}

RootBlocks::RootBlocks(Compression compression, int level) {
    auto const algorithm = algorithm_of(compression);
    if (!algorithm) return;
    algorithm_ = *algorithm;
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
        put_head(head, algorithm_, size, chunk.size());
        at += kRootHeadBytes + size;
        raw = raw.subspan(chunk.size());
    }
    return at;
}

std::size_t RootBlocks::compress_planes(std::span<std::byte const> raw, std::size_t planes, std::span<std::byte> out) {
    std::size_t at = 0;
    for (auto const& frame : plane_writer_->compress(raw, planes, kRootHeadBytes, out)) {
        put_head(out.data() + at, algorithm_, frame.stored_bytes, frame.raw_bytes);
        at += kRootHeadBytes + frame.stored_bytes;
    }
    return at;
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

std::vector<std::byte> compress_root_metadata(std::span<std::byte const> raw, std::size_t tail_bytes) {
    std::vector<std::byte> out;
    for (auto rest = raw; !rest.empty();) {
        auto const chunk = rest.first(std::min(rest.size(), kChunkBytes));
        rest = rest.subspan(chunk.size());
        auto const tail_in_chunk = tail_bytes - std::min(tail_bytes, rest.size());
        auto const block = encode_steady_lz4(chunk, tail_in_chunk);
        auto const stored_bytes = kLz4ChecksumBytes + block.size();
        if (kRootHeadBytes + stored_bytes >= chunk.size()) return {raw.begin(), raw.end()};
        auto const at = out.size();
        out.resize(at + kRootHeadBytes + kLz4ChecksumBytes);
        out.insert(out.end(), block.begin(), block.end());
        put_head(out.data() + at, RootBlocks::lz4, stored_bytes, chunk.size());
        put_lz4_checksum(out.data() + at + kRootHeadBytes, block.size());
    }
    return out;
}

} // namespace thalweg::codec
