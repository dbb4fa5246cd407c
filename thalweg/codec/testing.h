// For the tests of this folder: pages through a codec.
#pragma once

#include <cstddef>
#include <vector>

#include "thalweg/codec/codec.h"

namespace thalweg::codec::testing {

using Bytes = std::vector<std::byte>;

// Into a buffer of exactly the bound, so that a sanitizer sees a byte too many.
inline Bytes encoded(Codec& codec, Bytes const& raw) {
    Bytes out(codec.bound_bytes(raw.size()));
    out.resize(codec.encode(raw, out));
    return out;
}

inline Bytes decoded(Codec& codec, Bytes const& stored, std::size_t raw_bytes) {
    Bytes const exact(stored.begin(), stored.end());
    Bytes raw(raw_bytes, std::byte{0xEE});
    codec.decode(exact, raw);
    return raw;
}

} // namespace thalweg::codec::testing
