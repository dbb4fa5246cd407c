// Compressors: the part of a codec that follows its prefilter.
#pragma once

#include "thalweg/codec/codec.h"
#include "thalweg/codec/kernel.h"

namespace thalweg::codec {

// The margin that callers leave around blocks: readable bytes before and behind what is compressed, and bytes that may
// be overwritten behind the room for any result.
inline constexpr std::size_t kMarginBytes = 64;

class Compressor {
  public:
    virtual ~Compressor() = default;
    virtual std::size_t bound_bytes(std::size_t raw_bytes) const = 0;

    // The blocks to come are of another page: what is made of them follows from that page alone.
    virtual void begin_page() {}

    // `out` has bound_bytes. Returns the compressed size, or 0 when `raw` does not fit into it.
    virtual std::size_t compress(std::span<std::byte const> raw, std::span<std::byte> out) = 0;

    // Fills `raw` completely and returns nullptr, or returns the reason why it could not.
    virtual char const* decompress(std::span<std::byte const> stored, std::span<std::byte> raw) = 0;
};

// One for each library, in the file of its name.
std::unique_ptr<Compressor> make_deflate(int level);
std::unique_ptr<Compressor> make_zstd(int level);
std::unique_ptr<Compressor> make_zstd_literals(); // codes single bytes, and looks for hardly any match
std::unique_ptr<Compressor> make_lz4_pages();
std::unique_ptr<Compressor> make_lz4_block(); // one plain block
std::unique_ptr<Compressor> make_lz4_planes(std::size_t planes);
std::unique_ptr<Compressor> make_lzma(); // decompresses only

// Compresses whole pages, in the form of the HDF5 filter of that name: 1, 32004, 32015.
std::unique_ptr<Compressor> make_compressor(Compression compression, int level);

// Compresses the blocks that bitshuffle has made, as HDF5 filter 32008 stores them; with lz4 and zstd only. Blocks of
// one page are compressed in order, with kMarginBytes around each.
std::unique_ptr<Compressor> make_block_compressor(Spec const& spec, std::size_t element_bytes);

// Whether HDF5's bitshuffle filter compresses so by itself, block by block, and not by a filter behind it.
bool is_inside_bitshuffle(Compression compression);

// Throws base::DataError about a page that does not decode, from this offset on.
[[noreturn]] void fail_page(std::size_t offset, std::string const& why);

int default_level(Compression compression);

} // namespace thalweg::codec
