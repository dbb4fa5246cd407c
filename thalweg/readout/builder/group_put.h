// For the .cc files of Group: one packet into one fragment, where every nanosecond counts.
#pragma once

#include <cstring>

#include "thalweg/base/units.h"
#include "thalweg/readout/builder/group.h"

namespace thalweg::readout {

template <typename Value> Value load(std::byte const* place) {
    Value value;
    std::memcpy(&value, place, sizeof value);
    return value;
}

// Short ones in steps of a vector, beyond the end of both: slots and blocks have room for that.
inline void copy_payload(std::byte* to, std::byte const* from, std::uint32_t size_bytes) {
    constexpr std::uint32_t kStep = 32, kShort = 128;
    if (size_bytes > kShort) [[unlikely]] {
        std::memcpy(to, from, size_bytes);
        return;
    }
    std::memcpy(to, from, kStep);
    for (std::uint32_t done = kStep; done < size_bytes; done += kStep) std::memcpy(to + done, from + done, kStep);
}

inline std::uint32_t status_of(std::uint32_t flags) {
    using felix::Trailer;
    return ((flags & Trailer::kCrc) != 0 ? kCrcError : 0) | ((flags & Trailer::kError) != 0 ? kPacketError : 0) |
           ((flags & Trailer::kBusy) != 0 ? kBusy : 0) | ((flags & Trailer::kTruncated) != 0 ? kTruncated : 0);
}

inline bool Group::read_key(TriggerConfig const& trigger, felix::Packet const& packet, Key& key) {
    if (packet.size_bytes < trigger.l1id_offset + sizeof key.raw) return false;
    key.raw = load<std::uint32_t>(packet.data + trigger.l1id_offset);
    bool const has_bcid = packet.size_bytes >= trigger.bcid_offset + sizeof key.bcid;
    key.bcid = has_bcid ? load<std::uint16_t>(packet.data + trigger.bcid_offset) : 0;
    return true;
}

// Rule 1: 32 bits become 64 by the newest event, from which they differ by less than half their range.
inline std::uint64_t Group::event_of(std::uint32_t raw, std::uint64_t reference, std::uint32_t ticks_of_slice) {
    auto const ticks = reference * ticks_of_slice;
    auto const ahead = static_cast<std::int32_t>(raw - static_cast<std::uint32_t>(ticks));
    auto const extended = ticks + static_cast<std::uint64_t>(ahead);
    return ticks_of_slice == 1 ? extended : extended / ticks_of_slice;
}

// Whether it is the first packet of its stream: the first one wins.
template <bool kAnyMode>
inline bool Group::put(FragmentHeader* fragment, std::size_t index, felix::Packet const& packet, Key const& key) {
    auto const bit = std::uint64_t{1} << index;
    bool const packed = kAnyMode && slices_;
    if ((fragment->stream_map & bit) != 0 && !packed) [[unlikely]] {
        fragment->status |= kDuplicate;
        return false;
    }
    auto const offset = fragment->length_bytes;
    auto const head_bytes = packed ? sizeof(PackedPayload) : 0;
    auto const end = offset + head_bytes + base::round_up(packet.size_bytes, kPayloadAlignment);
    fragment->stream_map |= bit;
    if (packet.flags != 0) [[unlikely]]
        fragment->status |= status_of(packet.flags);
    if (key.bcid != fragment->bcid && !packed) [[unlikely]]
        fragment->status |= kBcidMismatch;
    if (packet.size_bytes > kMaxPayloadBytes || end > ring_.capacity_bytes()) [[unlikely]] {
        fragment->status |= kOverflow;
        overflows_.add(1);
        return true;
    }
    auto* const bytes = reinterpret_cast<std::byte*>(fragment);
    auto const length = static_cast<std::uint16_t>(packet.size_bytes);
    if (packed) {
        PackedPayload const head{static_cast<std::uint16_t>(index), length};
        std::memcpy(bytes + offset, &head, sizeof head);
    } else {
        PayloadEntry const entry{static_cast<std::uint16_t>(offset / 4), length};
        std::memcpy(bytes + sizeof *fragment + index * sizeof entry, &entry, sizeof entry);
    }
    copy_payload(bytes + offset + head_bytes, packet.data, packet.size_bytes);
    fragment->length_bytes = static_cast<std::uint32_t>(end);
    return true;
}

} // namespace thalweg::readout
