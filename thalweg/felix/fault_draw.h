// Draws the fault that a packet or a block of an emulated card gets, as a function of seed, e-link and count.
#pragma once

#include <array>
#include <cstdint>

#include "thalweg/felix/card_events.h"
#include "thalweg/felix/faults.h"

namespace thalweg::felix {

enum class PacketFault { missing, late, duplicated, swapped, truncated, crc, error, busy, none };
enum class BlockFault { lost, lap, garbage, none };
enum class Purpose : std::uint32_t { packet, packet_detail, block, garbage, dead_link, stuck_pointer, which };

// Returns the fault that one draw hits: each fault has its probability, and a packet has one fault at most.
template <std::size_t N> std::size_t first_hit(std::array<double, N> const& probabilities, double fraction) {
    for (std::size_t index = 0; index < N; ++index) {
        if (fraction < probabilities[index]) return index;
        fraction -= probabilities[index];
    }
    return N;
}

inline double fraction_for(CardOptions const& options, Purpose purpose, std::uint32_t elink, std::uint64_t count) {
    return draw_fraction(options.seed, static_cast<std::uint32_t>(purpose), elink, count);
}

inline std::uint64_t bits_for(CardOptions const& options, Purpose purpose, std::uint32_t elink, std::uint64_t count) {
    return draw(options.seed, static_cast<std::uint32_t>(purpose), elink, count);
}

inline PacketFault packet_fault(CardOptions const& options, std::uint16_t elink, std::uint64_t event) {
    auto const& it = options.faults;
    std::array const probabilities{
        it.missing,    it.late,
        it.duplicated, it.swapped,
        it.truncated,  it.crc,
        it.error,      options.format.trailer_bytes == 2 ? 0 : it.busy}; // the narrow trailer has no such bit
    return static_cast<PacketFault>(first_hit(probabilities, fraction_for(options, Purpose::packet, elink, event)));
}

inline BlockFault block_fault(CardOptions const& options, std::uint16_t elink, std::uint64_t block) {
    auto const& it = options.faults;
    return static_cast<BlockFault>(first_hit(std::array{it.lost_block, it.lost_lap, it.garbage_block},
                                             fraction_for(options, Purpose::block, elink, block)));
}

} // namespace thalweg::felix
