// Whatever the bytes, a page of an RNTuple decodes or is refused; what has been decoded can be encoded, and then
// comes back the same. Build with -DTHALWEG_FUZZ=ON and clang.
#include "thalweg/codec/root_codec.h"
#include "thalweg/base/error.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <vector>

namespace {

struct Column {
    char const* codec;
    std::size_t element_bytes;
    bool encodes = true;
};

constexpr Column kColumns[] = {
    {"root:bit+lz4", 1},
    {"root:byte", 1},
    {"root:int16", 2},
    {"root:uint32+zstd-1", 1},
    {"root:int64", 4},
    {"root:real16", 4},
    {"root:real32+deflate", 4},
    {"root:index32", 8},
    {"root:index64+lz4", 8},
    {"root:splitint16+zstd-1", 2},
    {"root:splitint16", 8},
    {"root:splitint32", 4},
    {"root:splitint32", 1},
    {"root:splitint64+lz4", 8},
    {"root:splituint16", 4},
    {"root:splituint64", 2},
    {"root:splitreal16", 4},
    {"root:splitreal32+lz4", 4},
    {"root:splitreal64", 8},
    {"root:splitindex32+zstd-1", 8},
    {"root:splitindex64", 8},
    {"root:splitindex64", 4},
    {"root:switch-1", 8, false},
    {"root:truncated-10", 4},
    {"root:truncated-31+zstd-1", 4},
    {"root:quantized-1-0-1", 4},
    {"root:quantized-13--3-0.1", 4},
    {"root:quantized-32--1e+05-1e+05", 4, false}}; // finer than float32: never the same again

using Bytes = std::vector<std::byte>;

Bytes there_and_back(thalweg::codec::Codec& codec, Bytes const& raw) {
    Bytes stored(codec.bound_bytes(raw.size())), again(raw.size());
    stored.resize(codec.encode(raw, stored));
    codec.decode(Bytes(stored), again);
    return again;
}

// The first time may change what the column cannot hold: a NaN of half precision becomes a quiet one.
void check_stable(thalweg::codec::Codec& codec, Bytes const& raw) {
    auto const once = there_and_back(codec, raw);
    if (there_and_back(codec, once) != once) std::abort();
}

} // namespace

// The first byte picks the column, the next two the number of elements; the page follows.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size < 3) return 0;
    auto const& column = kColumns[data[0] % std::size(kColumns)];
    auto const codec = thalweg::codec::make_codec(column.codec, column.element_bytes);
    Bytes raw(column.element_bytes * (data[1] | data[2] << 8));
    Bytes stored(size - 3);
    std::copy_n(reinterpret_cast<std::byte const*>(data) + 3, stored.size(), stored.begin());
    try {
        codec->decode(stored, raw);
    } catch (thalweg::base::DataError const&) {
        return 0;
    }
    if (column.encodes) check_stable(*codec, raw);
    return 0;
}
