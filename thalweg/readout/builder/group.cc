#include "thalweg/readout/builder/group.h"

#include <algorithm>
#include <cstring>

#include "thalweg/base/clock.h"
#include "thalweg/readout/builder/group_put.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kSlotsAhead = 8;
constexpr std::uint64_t kLineBytes = 64;

} // namespace

Group::Group(GroupOptions options)
    : options_(std::move(options)), slices_(options_.group.mode == Mode::triggerless),
      ticks_(slices_ ? options_.trigger.slice_ticks : 1), ring_(options_.index.events, options_.group.fragment_bytes),
      margin_(slots_ahead(options_.index, options_.format.block_bytes)), now_ns_(base::monotonic_ns()) {
    if (options_.hook) hook_ = std::make_unique<Hook>(options_.hook, options_.group.source_id);
    for (auto const elink : options_.group.elinks) {
        auto stream = std::make_unique<Stream>(options_.format);
        stream->elink = elink;
        for (auto const disabled : options_.group.disabled) stream->enabled &= disabled != elink;
        if (stream->enabled) enabled_map_ |= std::uint64_t{1} << streams_.size();
        streams_.push_back(std::move(stream));
    }
    auto const entries = slices_ ? 0 : static_cast<std::uint32_t>(streams_.size());
    blank_.header_bytes = static_cast<std::uint16_t>(header_bytes(entries));
    blank_.length_bytes = blank_.header_bytes;
    blank_.stream_count = static_cast<std::uint16_t>(entries);
    blank_.run = options_.run;
    blank_.source_id = options_.group.source_id;
    blank_.enabled_map = enabled_map_;
    blank_.status = slices_ ? kTimeSlice : options_.group.mode == Mode::relay ? kRelayed : 0;
    find_room();
}

Group::~Group() = default;

void Group::take_block(std::size_t index, std::byte const* block) {
    auto& stream = *streams_[index];
    if (!stream.enabled) return;
    auto const packets = stream.decoder.decode(block);
    if (packets.empty()) return;
    stream.last_packet_ns = last_data_ns_ = now_ns_;
    if (hook_ || slices_) {
        take_packets<false>(index, packets);
    } else {
        take_packets<true>(index, packets);
    }
}

// Every packet of the detector comes by here. What the loop needs is in local variables, which no store into a fragment
// can change as far as the compiler knows; and it counts in events, from which positions differ by `shift`.
template <bool kPlain> void Group::take_packets(std::size_t index, std::span<felix::Packet const> packets) {
    auto& stream = *streams_[index];
    auto const slots = ring_.view();
    auto const trigger = options_.trigger;
    auto window = window_of(current_);
    auto const ahead = share_of_prefetching(index, packets.size());
    std::uint64_t duplicates = 0, strangers = 0, last = 0;
    for (auto const& packet : packets) {
        Key key;
        bool damaged = false;
        bool const has_key = kPlain ? read_key(trigger, packet, key) : ask_hook(stream, packet, key, damaged);
        if (!has_key) [[unlikely]] {
            stream.counters.orphaned.add(1);
            ++strangers;
            continue;
        }
        auto const event = event_of(key.raw, window.newest, kPlain ? 1 : ticks_);
        if (event - window.low >= window.room) [[unlikely]] {
            newest_ = {window.newest, window.newest + window.shift};
            set_bounds();
            place_elsewhere(index, packet, key);
            window = window_of(current_);
            ++strangers;
            continue;
        }
        auto* const fragment = slots.at(event + window.shift);
        for (auto offset = ahead.begin; offset < ahead.end; offset += kLineBytes) {
            __builtin_prefetch(reinterpret_cast<std::byte*>(fragment) + offset, 1);
        }
        if (fragment->event != event) {
            begin_fragment(fragment, event, key);
            current_.lowest = std::min(current_.lowest, event + window.shift);
        }
        auto const first = put<!kPlain>(fragment, index, packet, key);
        if (!kPlain && damaged) fragment->status |= kHookFailed;
        duplicates += !first;
        last = event + window.shift + 1;
        if (event > window.newest) {
            window.newest = event;
            window.room = std::min(event + options_.index.window_events, window.limit) - window.low;
        }
    }
    newest_ = {window.newest, window.newest + window.shift};
    set_bounds();
    stream.counters.duplicate.add(duplicates);
    auto const delivered = packets.size() - duplicates - strangers;
    if (delivered == 0) return;
    stream.counters.delivered.add(delivered);
    note_delivery(stream, std::uint64_t{1} << index, last);
}

// Slots that will be written soon have long left the caches. The first stream of an event would have to wait for them;
// so the slots of the next blocks are asked for now, every stream for its share of their lines.
Group::Lines Group::share_of_prefetching(std::size_t index, std::size_t packets) const {
    auto const lines = (typical_bytes_ + kLineBytes - 1) / kLineBytes;
    auto const share = (lines + streams_.size() - 1) / streams_.size();
    auto const first = std::min<std::uint64_t>(index * share, lines),
               end = std::min<std::uint64_t>(first + share, lines);
    auto const slot = (packets + kSlotsAhead) * ring_.stride_bytes();
    return {slot + first * kLineBytes, slot + end * kLineBytes};
}

Group::Window Group::window_of(Building const& building) const {
    auto const shift = building.newest.position - building.newest.event;
    return {.newest = building.newest.event,
            .shift = shift,
            .low = low_ - shift,
            .room = limit_ - low_,
            .limit = std::min(building.limit, room_end_) - shift};
}

void Group::note_delivery(Stream& stream, std::uint64_t bit, std::uint64_t progress) {
    stream.progress = std::max(stream.progress, progress);
    stream.first = std::min(stream.first, progress - 1);
    stream.late_streak = 0;
    stream.out_of_step = false;
    if ((live_map_ & bit) != 0) return;
    live_map_ |= bit;
    stream.live.set(1);
}

void Group::set_bounds() {
    if (!begun_) return; // nothing falls between 0 and 0
    low_ = std::max(open_, current_.low);
    limit_ = std::max(low_, std::min({newest_.position + options_.index.window_events, current_.limit, room_end_}));
}

bool Group::ask_hook(Stream const& stream, felix::Packet const& packet, Key& key, bool& damaged) {
    if (!hook_) return read_key(options_.trigger, packet, key);
    std::span const bytes(packet.data, packet.size_bytes);
    if (!hook_->reads_trigger()) {
        if (!read_key(options_.trigger, packet, key)) return false;
    } else {
        thalweg_trigger trigger = {};
        if (!hook_->trigger(bytes, stream.elink, trigger)) return false;
        key = {trigger.l1id, trigger.bcid, trigger.trigger_type};
    }
    damaged = !hook_->check(bytes, stream.elink);
    if (damaged) hook_failures_.add(1);
    return true;
}

void Group::begin_fragment(FragmentHeader* fragment, std::uint64_t event, Key const& key) const {
    *fragment = blank_;
    fragment->event = event;
    fragment->bcid = key.bcid;
    fragment->trigger_type = key.trigger_type;
    fragment->build_us = static_cast<std::uint32_t>(now_ns_ / 1000); // of the beginning, until it is closed
    std::memset(reinterpret_cast<std::byte*>(fragment + 1), 0, blank_.header_bytes - sizeof blank_);
}

GroupReport Group::report() const {
    GroupReport report{.source_id = options_.group.source_id,
                       .complete = complete_.get(),
                       .incomplete = incomplete_.get(),
                       .absent = absent_.get(),
                       .overflows = overflows_.get(),
                       .timed_out = timed_out_.get(),
                       .jumps = jumps_.get(),
                       .hook_failures = hook_failures_.get(),
                       .hook_overruns = hook_overruns_.get(),
                       .newest_event = newest_event_.get(),
                       .open_events = open_events_.get(),
                       .streams = {}};
    auto const held = ring_.closed_position() + report.open_events - ring_.kept_from();
    report.fill = static_cast<double>(held) / static_cast<double>(ring_.slots());
    for (auto const& stream : streams_) {
        auto const& in = stream->decoder.counters();
        auto const& out = stream->counters;
        report.streams.push_back({.elink = stream->elink,
                                  .enabled = stream->enabled,
                                  .live = stream->live.get() != 0,
                                  .deaths = stream->deaths.get(),
                                  .packets = in.packets.get(),
                                  .payload_bytes = in.payload_bytes.get(),
                                  .delivered = out.delivered.get(),
                                  .duplicate = out.duplicate.get(),
                                  .late = out.late.get(),
                                  .out_of_window = out.out_of_window.get(),
                                  .orphaned = out.orphaned.get(),
                                  .blocks = in.blocks.get(),
                                  .sequence_gaps = in.sequence_gaps.get(),
                                  .lost_blocks = in.lost_blocks.get(),
                                  .bad_blocks = in.bad_blocks.get(),
                                  .dropped_chunks = in.dropped_chunks.get(),
                                  .crc_errors = in.crc_errors.get(),
                                  .errors = in.errors.get(),
                                  .truncated = in.truncated.get(),
                                  .busy = in.busy.get(),
                                  .timeouts = in.timeouts.get(),
                                  .undefined = in.undefined.get()});
    }
    return report;
}

} // namespace thalweg::readout
