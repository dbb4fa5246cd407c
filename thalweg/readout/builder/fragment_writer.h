// Writes packets into the slots of a ring: how a fragment is begun, filled and finished (docs/formats/fragment.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "thalweg/base/shared_number.h"
#include "thalweg/base/units.h"
#include "thalweg/readout/builder/group_hook.h"
#include "thalweg/readout/builder/group_options.h"
#include "thalweg/readout/builder/packet_key.h"
#include "thalweg/readout/fragment.h"

namespace thalweg::readout {

// Copies short payloads in steps of a vector, beyond the end of both sides: slots and blocks have room for that. Sizes
// that are mixed, and seldom above kFirstBytes, cost no mispredicted branch.
template <std::uint32_t kFirstBytes = 32>
inline void copy_payload(std::byte* to, std::byte const* from, std::uint32_t size_bytes) {
    constexpr std::uint32_t kStep = 32, kShort = 128;
    static_assert(kFirstBytes <= felix::kReadableBehind);
    static_assert(kFirstBytes <= kOverhangBytes);
    if (size_bytes > kShort) [[unlikely]] {
        std::memcpy(to, from, size_bytes);
        return;
    }
    std::memcpy(to, from, kFirstBytes);
    for (auto done = kFirstBytes; done < size_bytes; done += kStep) std::memcpy(to + done, from + done, kStep);
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
    // Returns the size of the smallest packet that has a whole key.
    std::uint32_t least_bytes() const { return least_bytes_; }
    // Writes the fragment of an event with the packet `packets[i][number]` of each stream `streams[i]`: of all streams
    // that are enabled. Each has at least least_bytes(). Returns false, and leaves an unfinished slot, if one is of
    // another bunch crossing, or if they do not fit. `entries`, a PayloadEntry each, is empty before the first call.
    // `kFirstBytes` are copied of each packet in any case; `widest` is the largest size of a packet of the first
    // stream.
    using Entries = std::array<std::uint32_t, kMaxStreams>;
    template <std::uint32_t kFirstBytes>
    bool write(FragmentHeader* fragment, std::uint64_t event, PacketKey const& key,
               std::span<std::uint16_t const> streams, std::array<felix::Packet const*, kMaxStreams> const& packets,
               std::size_t number, std::uint32_t begun_us, Entries& entries, std::uint32_t& widest) const;
    // Finishes the fragment, which is never altered again.
    void finish(FragmentHeader* fragment, std::uint32_t status);

    std::uint32_t typical_bytes() const { return typical_bytes_; } // size of the last fragment that was finished
    std::uint64_t overflows() const { return overflows_.get(); }

  private:
    GroupContext const& context_;
    GroupHook& hook_;
    bool const slices_;
    std::uint32_t const capacity_bytes_;
    std::uint32_t const least_bytes_;
    FragmentHeader blank_;
    std::uint32_t typical_bytes_ = 0;
    base::SharedNumber overflows_;
};

// These functions decide the speed of building.
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

template <std::uint32_t kFirstBytes>
inline bool FragmentWriter::write(FragmentHeader* fragment, std::uint64_t event, PacketKey const& key,
                                  std::span<std::uint16_t const> streams,
                                  std::array<felix::Packet const*, kMaxStreams> const& packets, std::size_t number,
                                  std::uint32_t begun_us, Entries& entries, std::uint32_t& widest) const {
    auto const bcid_offset = context_.options.trigger.bcid_offset;
    auto const capacity_bytes = capacity_bytes_;
    auto* const bytes = reinterpret_cast<std::byte*>(fragment);
    std::uint32_t offset = blank_.header_bytes, differs = 0, flags = 0;
    for (std::size_t index = 0; index < streams.size(); ++index) {
        auto const packet = packets[index][number];
        auto const end = offset + static_cast<std::uint32_t>(base::round_up(packet.size_bytes, kPayloadAlignment));
        if (end > capacity_bytes) [[unlikely]]
            return false;
        differs |= static_cast<std::uint32_t>(load<std::uint16_t>(packet.data + bcid_offset) ^ key.bcid);
        flags |= packet.flags;
        entries[streams[index]] = offset / 4 | packet.size_bytes << 16; // one store for both members of a PayloadEntry
        copy_payload<kFirstBytes>(bytes + offset, packet.data, packet.size_bytes);
        offset = end;
    }
    if (differs != 0) [[unlikely]]
        return false;
    widest = std::max(widest, packets[0][number].size_bytes);
    std::memcpy(bytes + sizeof *fragment, entries.data(), blank_.header_bytes - sizeof *fragment);
    *fragment = blank_;
    fragment->length_bytes = offset;
    fragment->status |= flags == 0 ? 0 : status_of(flags);
    fragment->event = event;
    fragment->stream_map = blank_.enabled_map;
    fragment->bcid = key.bcid;
    fragment->build_us = begun_us;
    return true;
}

} // namespace thalweg::readout
