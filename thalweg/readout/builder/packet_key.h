// The key of a packet: what it says about its event.
#pragma once

#include <cstdint>
#include <cstring>

#include "thalweg/felix/decoder.h"
#include "thalweg/readout/config.h"

namespace thalweg::readout {

// `raw`: ECR << 24 | L1ID, or the ticks of a timestamp.
struct PacketKey {
    std::uint32_t raw = 0;
    std::uint16_t bcid = 0;
    std::uint32_t trigger_type = 0;
};

template <typename Value> Value load(std::byte const* place) {
    Value value;
    std::memcpy(&value, place, sizeof value);
    return value;
}

// Returns false if the packet is too short to have a key.
inline bool read_key(TriggerConfig const& trigger, felix::Packet const& packet, PacketKey& key) {
    if (packet.size_bytes < trigger.l1id_offset + sizeof key.raw) return false;
    key.raw = load<std::uint32_t>(packet.data + trigger.l1id_offset);
    bool const has_bcid = packet.size_bytes >= trigger.bcid_offset + sizeof key.bcid;
    key.bcid = has_bcid ? load<std::uint16_t>(packet.data + trigger.bcid_offset) : 0;
    return true;
}

} // namespace thalweg::readout
