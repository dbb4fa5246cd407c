// Writes packets into the slots of a ring: how a fragment is begun, filled and finished (docs/formats/fragment.md).
#pragma once

#include <cstring>

#include "thalweg/base/shared_number.h"
#include "thalweg/base/units.h"
#include "thalweg/readout/builder/group_hook.h"
#include "thalweg/readout/builder/group_options.h"
#include "thalweg/readout/builder/packet_key.h"
#include "thalweg/readout/fragment.h"

namespace thalweg::readout {

// Copies short payloads in steps of a vector, beyond the end of both sides: slots and blocks have room for that.
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

class FragmentWriter {
  public:
    FragmentWriter(GroupContext const& context, GroupHook& hook, std::uint64_t enabled_map);

    void begin(FragmentHeader* fragment, std::uint64_t event, PacketKey const& key) const;
    // Returns whether it is the first packet of its stream; only the first one is stored. `kAnyMode`: time slices are
    // possible, too.
    template <bool kAnyMode>
    bool put(FragmentHeader* fragment, std::size_t stream, felix::Packet const& packet, PacketKey const& key);
    // Finishes the fragment, which is never altered again.
    void finish(FragmentHeader* fragment, std::uint32_t status);

    std::uint32_t typical_bytes() const { return typical_bytes_; } // size of the last fragment that was finished
    std::uint64_t overflows() const { return overflows_.get(); }

  private:
    GroupContext const& context_;
    GroupHook& hook_;
    bool const slices_;
    std::uint32_t const capacity_bytes_;
    FragmentHeader blank_;
    std::uint32_t typical_bytes_ = 0;
    base::SharedNumber overflows_;
};

// These two functions decide the speed of building.
inline void FragmentWriter::begin(FragmentHeader* fragment, std::uint64_t event, PacketKey const& key) const {
    *fragment = blank_;
    fragment->event = event;
    fragment->bcid = key.bcid;
    fragment->trigger_type = key.trigger_type;
    // The time of its beginning, until it is finished.
    fragment->build_us = static_cast<std::uint32_t>(context_.now_ns / 1000);
    std::memset(reinterpret_cast<std::byte*>(fragment + 1), 0, blank_.header_bytes - sizeof blank_);
}

template <bool kAnyMode>
inline bool FragmentWriter::put(FragmentHeader* fragment, std::size_t stream, felix::Packet const& packet,
                                PacketKey const& key) {
    auto const bit = std::uint64_t{1} << stream;
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
    if (packet.size_bytes > kMaxPayloadBytes || end > capacity_bytes_) [[unlikely]] {
        fragment->status |= kOverflow;
        overflows_.add(1);
        return true;
    }
    auto* const bytes = reinterpret_cast<std::byte*>(fragment);
    auto const length = static_cast<std::uint16_t>(packet.size_bytes);
    if (packed) {
        PackedPayload const head{static_cast<std::uint16_t>(stream), length};
        std::memcpy(bytes + offset, &head, sizeof head);
    } else {
        PayloadEntry const entry{static_cast<std::uint16_t>(offset / 4), length};
        std::memcpy(bytes + sizeof *fragment + stream * sizeof entry, &entry, sizeof entry);
    }
    copy_payload(bytes + offset + head_bytes, packet.data, packet.size_bytes);
    fragment->length_bytes = static_cast<std::uint32_t>(end);
    return true;
}

} // namespace thalweg::readout
