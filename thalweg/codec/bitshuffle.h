// Pages in the form of HDF5 filter 32008, the bitshuffle library's: with a compression of its own inside, or without.
#pragma once

#include "thalweg/codec/compressor.h"
#include "thalweg/codec/transposer.h"

namespace thalweg::codec {

// Without compression nothing in the page tells how it was blocked; all rely on the library's default never changing.
// The elements that do not fill a group of eight follow as they are.
void bitshuffle_page(Transposer& transposer, std::span<std::byte const> in, std::byte* out);
void bitunshuffle_page(Transposer& transposer, std::span<std::byte const> in, std::byte* out);

// With compression: u64 raw size, u32 bytes in a block, then each block behind its u32 compressed size; big-endian.
std::unique_ptr<Codec> make_bitshuffle_codec(std::size_t element_bytes, std::unique_ptr<Compressor> compressor);

} // namespace thalweg::codec
