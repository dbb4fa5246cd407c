// ROOT's compression blocks: chunks of at most 0xffffff bytes, each behind a head of 9 bytes that tells the algorithm,
// its size, and the size it came from.
#pragma once

#include "thalweg/codec/compressor.h"

#include <array>

namespace thalweg::codec {

// Not thread-safe: it keeps the state of the compressors.
class RootBlocks {
  public:
    // Level 0: ROOT's default.
    explicit RootBlocks(Compression compression = Compression::none, int level = 0);

    bool compresses() const { return writer_ != nullptr; }
    std::size_t bound_bytes(std::size_t raw_bytes) const;

    // Returns 0 where one of the chunks does not shrink: as ROOT's readers insist on it, all is then stored as it is.
    // `out` has bound_bytes.
    std::size_t compress(std::span<std::byte const> raw, std::span<std::byte> out);

    // By the heads of the blocks, whatever this object compresses with. Throws base::DataError.
    void decompress(std::span<std::byte const> stored, std::span<std::byte> raw);

    // In the order of the heads' tags.
    enum Algorithm : std::uint8_t { zlib, lzma, lz4, zstd, kAlgorithms };

  private:
    Compressor& decompressor(Algorithm algorithm);

    Algorithm algorithm_ = zstd;
    std::unique_ptr<Compressor> writer_; // none: nothing is compressed
    std::array<std::unique_ptr<Compressor>, kAlgorithms> readers_;
};

// What ROOT takes where no level is given.
int default_root_level(Compression compression);

} // namespace thalweg::codec
