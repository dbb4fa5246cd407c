#include "thalweg/felix/packet.h"

namespace thalweg::felix {
namespace {

// Writes the pattern without the terms that are constant in a packet: compilers turn this loop into vectors.
void fill(std::byte* bytes, std::uint32_t begin, std::uint32_t end, std::uint8_t first) {
    for (std::uint32_t index = begin; index < end; ++index) bytes[index] = static_cast<std::byte>(first + index);
}

bool is_filled(std::byte const* bytes, std::uint32_t begin, std::uint32_t end, std::uint8_t first) {
    unsigned wrong = 0;
    for (std::uint32_t index = begin; index < end; ++index) {
        wrong |= static_cast<std::uint8_t>(first + index) ^ static_cast<std::uint8_t>(bytes[index]);
    }
    return wrong == 0;
}

} // namespace

void fill_packet(std::span<std::byte> packet, std::uint32_t l1id_offset, PacketHead const& head) {
    auto const size_bytes = static_cast<std::uint32_t>(packet.size());
    fill(packet.data(), 0, size_bytes, pattern(head.elink, size_bytes, 0));
    if (l1id_offset + sizeof head <= size_bytes) std::memcpy(packet.data() + l1id_offset, &head, sizeof head);
}

bool is_intact(std::span<std::byte const> packet, std::uint32_t l1id_offset, std::uint16_t elink) {
    auto const size_bytes = static_cast<std::uint32_t>(packet.size());
    PacketHead head;
    std::uint32_t const behind_head = l1id_offset + sizeof head;
    if (behind_head > size_bytes) return false;
    std::memcpy(&head, packet.data() + l1id_offset, sizeof head);
    auto const first = pattern(elink, size_bytes, 0);
    return head.elink == elink && head.bcid == bcid_of(head.l1id) && is_filled(packet.data(), 0, l1id_offset, first) &&
           is_filled(packet.data(), behind_head, size_bytes, first);
}

} // namespace thalweg::felix
