#include "thalweg/codec/root_packing.h"

#include <cstdint>
#include <cstring>

namespace thalweg::codec {
namespace {

// Eight bytes into eight bits, the first into the lowest: multiplying moves bit 0 of byte i to bit 56 + i.
std::byte join_eight(std::uint64_t bytes) {
    constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
    auto const is_set = ((((bytes & kLow) + kLow) | bytes) >> 7) & 0x0101010101010101; // of each byte that is not 0
    return std::byte(is_set * 0x0102040810204080 >> 56);
}

// And back: each byte keeps its own bit of a copy of all eight.
std::uint64_t split_eight(std::byte bits) {
    auto const kept = std::to_integer<std::uint64_t>(bits) * 0x0101010101010101 & 0x8040201008040201;
    return ((kept + 0x7f7f7f7f7f7f7f7f) >> 7) & 0x0101010101010101;
}

class BitPacking : public Packing {
  public:
    std::size_t packed_bytes(std::size_t elements) const override { return elements / 8 + (elements % 8 != 0); }

    void pack(std::span<std::byte const> raw, std::span<std::byte> packed) override {
        for (std::size_t i = 0; i < packed.size(); ++i) {
            std::uint64_t bytes = 0;
            auto const left = raw.size() - 8 * i;
            std::memcpy(&bytes, raw.data() + 8 * i, left < 8 ? left : 8);
            packed[i] = join_eight(bytes);
        }
    }

    void unpack(std::span<std::byte const> packed, std::span<std::byte> raw) override {
        for (std::size_t i = 0; i < packed.size(); ++i) {
            auto const bytes = split_eight(packed[i]);
            auto const left = raw.size() - 8 * i;
            std::memcpy(raw.data() + 8 * i, &bytes, left < 8 ? left : 8);
        }
    }
};

} // namespace

std::unique_ptr<Packing> make_bits(std::string_view encoding) {
    return encoding == "bit" ? std::make_unique<BitPacking>() : nullptr;
}

} // namespace thalweg::codec
