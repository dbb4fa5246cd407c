// ROOT's compression blocks: chunks of at most 0xffffff bytes, each behind a head of 9 bytes that tells the algorithm,
// its size, and the size it came from.
#pragma once

#include "thalweg/codec/compressor.h"
#include "thalweg/codec/zstd_planes.h"

#include <array>
#include <optional>

namespace thalweg::codec {

// Not thread-safe: it keeps the state of the compressors.
class RootBlocks {
  public:
    // Level 0: ROOT's default.
    explicit RootBlocks(Compression compression = Compression::none, int level = 0);

    bool compresses() const { return writer_ != nullptr; }
    std::size_t bound_bytes(std::size_t raw_bytes, std::size_t planes) const;

    // Returns 0 where one of the chunks does not shrink: as ROOT's readers insist on it, all is then stored as it is.
    // `planes`: of a split page, the bytes of its elements; else 1. `out` has bound_bytes.
    std::size_t compress(std::span<std::byte const> raw, std::size_t planes, std::span<std::byte> out);

    // Decompresses by the heads of the blocks, whatever this object compresses with. Throws base::DataError.
    void decompress(std::span<std::byte const> stored, std::span<std::byte> raw);

    enum Algorithm : std::uint8_t { zlib, lzma, lz4, zstd };
    static constexpr std::array kAlgorithms = {zlib, lzma, lz4, zstd}; // all there are

  private:
    std::size_t compress_planes(std::span<std::byte const> raw, std::size_t planes, std::span<std::byte> out);
    Compressor& decompressor(Algorithm algorithm);

    Algorithm algorithm_ = zstd;
    std::unique_ptr<Compressor> writer_; // none: nothing is compressed
    std::optional<ZstdPlanes> plane_writer_;
    std::array<std::unique_ptr<Compressor>, kAlgorithms.size()> readers_; // by algorithm
};

// The level that ROOT takes if none is given.
int default_root_level(Compression compression);

// ROOT's settings number, 100 * algorithm + level; 0 if nothing is compressed. The inverse gives none for an algorithm
// that is read here, and not written (lzma).
std::uint32_t root_settings(Spec const& spec);
std::optional<Spec> spec_of_root_settings(std::uint32_t settings);

} // namespace thalweg::codec
