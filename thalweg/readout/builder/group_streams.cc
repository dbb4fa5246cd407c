#include "thalweg/readout/builder/group_streams.h"

#include <algorithm>
#include <bit>

#include "thalweg/base/assert.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kLookNs = 1'000'000; // between two checks for dead links

} // namespace

GroupStreams::GroupStreams(GroupContext const& context) : context_(context) {
    auto const& group = context.options.group;
    THALWEG_ASSERT(group.elinks.size() <= kMaxStreams, "a group has no more streams than a map has bits");
    for (auto const elink : group.elinks) {
        auto stream = std::make_unique<GroupStream>(context.options.format);
        stream->elink = elink;
        for (auto const disabled : group.disabled) stream->enabled &= disabled != elink;
        if (stream->enabled) enabled_map_ |= std::uint64_t{1} << streams_.size();
        streams_.push_back(std::move(stream));
    }
}

void GroupStreams::note_delivery(std::size_t index, std::uint64_t progress) {
    auto& stream = *streams_[index];
    stream.progress = std::max(stream.progress, progress);
    stream.first = std::min(stream.first, progress - 1);
    stream.late.end();
    stream.out_of_step = false;
    auto const bit = std::uint64_t{1} << index;
    if ((live_map_ & bit) != 0) return;
    THALWEG_ASSERT((enabled_map_ & bit) != 0, "a stream that is disabled delivers nothing");
    live_map_ |= bit;
    stream.live.set(1);
}

void GroupStreams::look_for_dead(OpenStretch const& newest, std::uint64_t newest_event) {
    auto const now_ns = context_.now_ns;
    if (now_ns < next_look_ns_) return;
    next_look_ns_ = now_ns + kLookNs;
    auto const& index = context_.options.index;
    for (auto map = live_map_; map != 0; map &= map - 1) {
        auto const number = std::countr_zero(map);
        auto& stream = *streams_[number];
        bool const is_silent = now_ns > stream.last_packet_ns + index.dead_after_ns;
        if (!is_silent || newest.event_of(stream.progress) + index.close_after_events >= newest_event) continue;
        live_map_ &= ~(std::uint64_t{1} << number);
        stream.live.set(0);
        stream.deaths.add(1);
    }
}

void GroupStreams::restart() {
    for (auto& stream : streams_) stream->decoder.restart();
}

std::uint64_t GroupStreams::passed_position() const {
    auto const distance = context_.slices ? 1 : context_.options.index.close_after_events;
    std::uint64_t passed = ~0ull;
    for (auto map = live_map_; map != 0; map &= map - 1) {
        passed = std::min(passed, streams_[std::countr_zero(map)]->progress);
    }
    return live_map_ != 0 && passed > distance ? passed - distance : 0;
}

bool GroupStreams::are_together(std::uint64_t newest_position, std::uint64_t most_behind) const {
    return std::ranges::all_of(streams_, [&](auto const& stream) {
        if (!stream->enabled) return true;
        bool const is_silent = context_.now_ns > stream->last_packet_ns + context_.options.index.dead_after_ns;
        return !is_silent && !stream->out_of_step && stream->progress + most_behind > newest_position;
    });
}

std::uint32_t GroupStreams::why_missing(std::uint64_t missing_map, std::uint64_t position) const {
    std::uint32_t why = 0;
    for (auto map = missing_map; map != 0; map &= map - 1) {
        auto const index = std::countr_zero(map);
        auto const first = streams_[index]->first;
        if ((live_map_ >> index & 1) == 0) why |= kDeadLink;
        if (first != ~0ull && first > position) why |= kRestart;
    }
    return why;
}

bool GroupStreams::balances(std::size_t index, std::uint64_t undecided) const {
    auto const& out = streams_[index]->counters;
    return streams_[index]->decoder.counters().packets.get() == out.delivered.get() + out.duplicate.get() +
                                                                    out.late.get() + out.out_of_window.get() +
                                                                    out.orphaned.get() + out.left.get() + undecided;
}

std::vector<StreamReport> GroupStreams::report() const {
    std::vector<StreamReport> reports;
    for (auto const& stream : streams_) {
        auto const& in = stream->decoder.counters();
        auto const& out = stream->counters;
        reports.push_back({.elink = stream->elink,
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
                           .left = out.left.get(),
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
    return reports;
}

} // namespace thalweg::readout
