#include "thalweg/readout/builder/fragment_writer.h"

#include "thalweg/base/assert.h"

namespace thalweg::readout {

FragmentWriter::FragmentWriter(GroupContext const& context, GroupHook& hook, std::uint64_t enabled_map)
    : context_(context), hook_(hook), slices_(context.slices), capacity_bytes_(context.ring.capacity_bytes()),
      least_bytes_(
          std::max(context.options.trigger.l1id_offset + static_cast<std::uint32_t>(sizeof(PacketKey::raw)),
                   context.options.trigger.bcid_offset + static_cast<std::uint32_t>(sizeof(PacketKey::bcid)))) {
    auto const& options = context.options;
    auto const entries = slices_ ? 0 : static_cast<std::uint32_t>(options.group.elinks.size());
    blank_.header_bytes = static_cast<std::uint16_t>(header_bytes(entries));
    blank_.length_bytes = blank_.header_bytes;
    blank_.stream_count = static_cast<std::uint16_t>(entries);
    blank_.run = options.run;
    blank_.source_id = options.group.source_id;
    blank_.enabled_map = enabled_map;
    blank_.status = slices_ ? kTimeSlice : options.group.mode == Mode::relay ? kRelayed : 0;
    THALWEG_ASSERT(blank_.length_bytes <= capacity_bytes_ && capacity_bytes_ % kPayloadAlignment == 0,
                   "a slot has room for the header of a fragment, and for payloads that end on a multiple of 4");
}

void FragmentWriter::finish(FragmentHeader* fragment, std::uint32_t status) {
    THALWEG_ASSERT((fragment->stream_map & ~fragment->enabled_map) == 0,
                   "what is built is of streams that are enabled");
    THALWEG_ASSERT(slices_ || ((status & kIncomplete) == 0) == (fragment->stream_map == fragment->enabled_map),
                   "a fragment is complete when every enabled stream is in it, and only then");
    fragment->status |= status;
    fragment->build_us = static_cast<std::uint32_t>(context_.now_ns / 1000) - fragment->build_us;
    if (hook_.is_there()) hook_.rewrite(fragment);
    THALWEG_ASSERT(fragment->length_bytes <= capacity_bytes_, "a fragment ends within its slot");
    typical_bytes_ = fragment->length_bytes;
    if (context_.options.index.checksum) {
        fragment->checksum = 0;
        fragment->checksum = checksum_of({reinterpret_cast<std::byte const*>(fragment), fragment->length_bytes});
    }
}

} // namespace thalweg::readout
