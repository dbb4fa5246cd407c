// The packets of the emulated card. At `l1id_offset` lie the level-1 identifier (24 bits of L1ID, 8 of ECR), the e-link
// and the bunch crossing. A pattern that readers can check fills the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace thalweg::felix {

inline constexpr std::uint32_t kBunchCrossings = 3564; // in one turn of the LHC

struct PacketHead {
    std::uint32_t l1id = 0; // ECR << 24 | L1ID
    std::uint16_t elink = 0;
    std::uint16_t bcid = 0;
};
static_assert(sizeof(PacketHead) == 8);

// One event has 40 crossings of 25 ns, so the rate is 1 MHz.
constexpr std::uint16_t bcid_of(std::uint32_t l1id) {
    return static_cast<std::uint16_t>(static_cast<std::uint64_t>(l1id) * 40 % kBunchCrossings);
}

// Returns byte `index` of a packet of `size_bytes`, outside the head. It depends on the size, so that a cut packet
// shows.
constexpr std::uint8_t pattern(std::uint32_t elink, std::uint32_t size_bytes, std::uint32_t index) {
    return static_cast<std::uint8_t>(elink * 31 + size_bytes * 7 + index);
}

void fill_packet(std::span<std::byte> packet, std::uint32_t l1id_offset, PacketHead const& head);

// Returns whether everything but the head is as fill_packet() leaves it, and the head has `elink` and its own BCID.
bool is_intact(std::span<std::byte const> packet, std::uint32_t l1id_offset, std::uint16_t elink);

} // namespace thalweg::felix
