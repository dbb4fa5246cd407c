// For any bytes in the blocks, the bytes of all packets can be read, and the counters add up. Build with
// -DTHALWEG_FUZZ=ON and clang.
#include "thalweg/felix/decoder.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::array<thalweg::felix::BlockFormat, 4> kFormats{
    {{0xABCD, 1024, 2}, {0xABCE, 1024, 4}, {0xC0CE, 1024, 4}, {0xC3CE, 4096, 4}}};
constexpr std::uint32_t kMaxPacketBytes = 3000;

} // namespace

// The first byte chooses the format. A block is filled from its end, where reading begins: two bytes give the number of
// bytes that follow, and the rest of the block is zero.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    using namespace thalweg;
    if (size == 0) return 0;
    auto const& format = kFormats[data[0] % kFormats.size()];
    felix::StreamDecoder decoder(format, kMaxPacketBytes);
    std::uint64_t packets = 0, payload_bytes = 0, blocks = 0, sum = 0;
    for (std::size_t at = 1; at + 2 < size;) {
        std::vector<std::byte> block(format.block_bytes); // of its own, so that the sanitizer sees where it ends
        auto const given = std::min<std::size_t>(
            {static_cast<std::size_t>(data[at] | data[at + 1] << 8), block.size(), size - at - 2});
        auto const* const begin = reinterpret_cast<std::byte const*>(data) + at + 2;
        std::copy_backward(begin, begin + given, block.end());
        at += 2 + given;
        for (auto const& packet : decoder.decode(block.data())) {
            if (packet.size_bytes > std::max(kMaxPacketBytes, format.block_bytes)) std::abort();
            for (std::uint32_t i = 0; i < packet.size_bytes; ++i) sum += static_cast<std::uint64_t>(packet.data[i]);
            packets += 1;
            payload_bytes += packet.size_bytes;
        }
        blocks += 1;
    }
    auto const& counters = decoder.counters();
    if (counters.blocks.get() != blocks || counters.packets.get() != packets ||
        counters.payload_bytes.get() != payload_bytes)
        std::abort();
    return sum == 1 && blocks == 0; // the sum is used: reading is what is tried
}
