// Pages as ROOT's RNTuple stores them: elements packed by their column type, then compressed in ROOT's blocks
// ("Column Description", "Compression Block" of the RNTuple specification).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/codec/codec.h"

namespace thalweg::codec {

// "root:<encoding>[+<compression>]":
//   encodings of integers    bit byte char int8 uint8 int16 uint16 int32 uint32 int64 uint64, splitint16 splituint16
//                            splitint32 splituint32 splitint64 splituint64
//   of floating point        real16 real32 real64, splitreal16 splitreal32 splitreal64, truncated-<bits>,
//                            quantized-<bits>-<min>-<max> (the last two hold float32)
//   of running sums          index32 index64 splitindex32 splitindex64
//   of a variant's switch    switch-<tag>: reads as 1 where the alternative <tag> (from 1) is there, else as 0;
//                            read only
//   compression              zstd[-level], lz4, deflate[-level] (zlib), none; any of them, and lzma, is understood in
//                            reading, whatever the name says
// A page decodes to elements of the model: bit to bytes of 0 or 1, index* and switch to uint64, real16 to float32
// unless `element_bytes` is 2, everything else to its own size; reading narrower or wider integers than the column has
// is allowed where `element_bytes` says so.
bool is_root_codec(std::string_view name);

// Unlike other codecs, `encode` always gives the stored bytes (where compression does not shrink a page, the packed
// elements, as the specification wants it), so that every page counts as encoded.
// Throws base::UsageError that lists what there is.
std::unique_ptr<Codec> make_root_codec(std::string_view name, std::size_t element_bytes);

// ROOT's settings number of a codec by its name: 100 * algorithm (zlib 1, lzma 2, lz4 4, zstd 5) + level; 0: none.
std::uint32_t compression_settings(std::string_view name);

// Returns the part of a codec's name behind the plus for that number: "zstd-5". Empty if it can be read, and not
// written.
std::string compression_of_settings(std::uint32_t settings);

// One or many of ROOT's compression blocks (chunks of at most 0xffffff bytes, each with 9 bytes in front): also keys of
// TFile are compressed so. Fills `raw` completely, or throws base::DataError.
void decompress_root_blocks(std::span<std::byte const> stored, std::span<std::byte> raw);

// Returns `raw` in blocks of LZ4, or as it is if that is no shorter. The result follows from `raw` alone, with every
// version of LZ4, and its size does not depend on the last `tail_bytes`.
std::vector<std::byte> compress_root_metadata(std::span<std::byte const> raw, std::size_t tail_bytes = 0);

} // namespace thalweg::codec
