// Whatever the bytes: decoded as LZ4 itself does, or refused. Build with -DTHALWEG_FUZZ=ON and clang.
#include "thalweg/codec/lz4_block.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <lz4.h>
#include <vector>

namespace {

// A match at distance 0 is the one thing that LZ4 takes and we do not; where there is none, both must agree.
bool has_distance_zero(std::span<std::uint8_t const> stored) {
    std::size_t at = 0;
    auto const length = [&](unsigned nibble) {
        std::size_t sum = nibble;
        for (std::uint8_t byte = nibble == 15 ? 255 : 0; byte == 255 && at < stored.size();) sum += byte = stored[at++];
        return sum;
    };
    while (at < stored.size()) {
        unsigned const token = stored[at++];
        std::size_t const literals = length(token >> 4);
        if (literals + 2 > stored.size() - at) return false;
        at += literals + 2;
        if (stored[at - 2] == 0 && stored[at - 1] == 0) return true;
        length(token & 15);
    }
    return false;
}

} // namespace

// The first byte picks the slack, the next two the raw size; the block follows.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::size_t const slack = size > 0 && data[0] % 2 ? 64 : 0;
    std::size_t const raw_bytes = size > 2 ? data[1] | data[2] << 8 : 0;
    std::vector<std::uint8_t> const stored(data + std::min<std::size_t>(size, 3), data + size);
    std::vector<std::uint8_t> ours(raw_bytes + slack), theirs(raw_bytes);
    bool const taken = thalweg::codec::decode_lz4_block(
        std::as_bytes(std::span(stored)), std::as_writable_bytes(std::span(ours)).first(raw_bytes), slack);
    int const told =
        LZ4_decompress_safe(reinterpret_cast<char const*>(stored.data()), reinterpret_cast<char*>(theirs.data()),
                            static_cast<int>(stored.size()), static_cast<int>(raw_bytes));
    bool const lz4_takes = told == static_cast<int>(raw_bytes);
    if (taken ? !lz4_takes || !std::equal(theirs.begin(), theirs.end(), ours.begin())
              : lz4_takes && !has_distance_zero(stored)) {
        std::abort();
    }
    return 0;
}
