// The packets of the emulated card. At `l1id_offset`: the level-1 identifier (24 bits of L1ID, 8 of ECR), the e-link,
// the bunch crossing; before and behind that a pattern that a reader can check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace thalweg::felix {

inline constexpr std::uint32_t kBunchCrossings = 3564; // of one turn of the LHC

struct PacketHead {
    std::uint32_t l1id = 0; // ECR << 24 | L1ID
    std::uint16_t elink = 0;
    std::uint16_t bcid = 0;
};
static_assert(sizeof(PacketHead) == 8);

// 40 crossings of 25 ns an event: 1 MHz.
constexpr std::uint16_t bcid_of(std::uint32_t l1id) {
    return static_cast<std::uint16_t>(static_cast<std::uint64_t>(l1id) * 40 % kBunchCrossings);
}

// Of byte `index` of a packet of `size_bytes`, where no head is. It depends on the size, so that a cut packet shows.
constexpr std::uint8_t pattern(std::uint32_t elink, std::uint32_t size_bytes, std::uint32_t index) {
    return static_cast<std::uint8_t>(elink * 31 + size_bytes * 7 + index);
}

void fill_packet(std::span<std::byte> packet, std::uint32_t l1id_offset, PacketHead const& head);

// Whether all but the head is as fill_packet leaves it, and the head is of `elink` and its own BCID.
bool is_intact(std::span<std::byte const> packet, std::uint32_t l1id_offset, std::uint16_t elink);

} // namespace thalweg::felix
