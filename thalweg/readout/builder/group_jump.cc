// Packets outside the window: late ones, and jumps of the event number.
#include <algorithm>
#include <bit>

#include "thalweg/readout/builder/group_put.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kEpoch = std::uint64_t{1} << 32;
constexpr std::uint64_t kPacketsOfAJump = 8; // one damaged number moves nobody, not even in a group of one stream

} // namespace

void Group::place_elsewhere(std::size_t index, felix::Packet const& packet, Key const& key) {
    if (!begun_) {
        if (was_closed_before(*streams_[index], key.raw)) {
            streams_[index]->counters.late.add(1);
            return;
        }
        begin(key.raw);
    }
    if (place_now(index, packet, key) || place_in_candidate(index, packet, key)) return;
    auto& stream = *streams_[index];
    auto const event = event_of(key.raw, newest_.event, ticks_);
    if (candidate_ && event - newest_.event < options_.index.window_events) {
        reject_candidate(); // the others went on as far as it let them
        if (place_now(index, packet, key)) return;
    }
    if (is_late(event) && !has_fallen_back(stream)) {
        stream.counters.late.add(1);
        return;
    }
    if (candidate_ || stream.out_of_step) {
        stream.counters.out_of_window.add(1);
        return;
    }
    bool const is_ahead = event > newest_.event || !current_.announced;
    propose_jump(is_ahead ? event : event + kEpoch / ticks_);
    if (!place_in_candidate(index, packet, key)) stream.counters.out_of_window.add(1);
}

// In the newest stretch, or in the one before it while that is open.
bool Group::place_now(std::size_t index, felix::Packet const& packet, Key const& key) {
    auto placed = place_in(current_, std::max(open_, current_.low), index, packet, key);
    if (placed.done) {
        set_bounds();
    } else if (old_) {
        placed = place_in(*old_, std::max(open_, old_->low), index, packet, key);
    }
    if (!placed.done) return false;
    auto& stream = *streams_[index];
    (placed.duplicate ? stream.counters.duplicate : stream.counters.delivered).add(1);
    if (!placed.duplicate) note_delivery(stream, std::uint64_t{1} << index, placed.position + 1);
    return true;
}

Group::Placed Group::place_in(Building& building, std::uint64_t low, std::size_t index, felix::Packet const& packet,
                              Key const& key) {
    auto const event = event_of(key.raw, building.newest.event, ticks_);
    auto const position = building.newest.position + (event - building.newest.event);
    auto const end = std::min({building.newest.position + options_.index.window_events, building.limit, room_end_});
    if (position < low || position >= end) return {};
    auto* const fragment = ring_.slot(position);
    if (fragment->event != event) {
        begin_fragment(fragment, event, key);
        building.lowest = std::min(building.lowest, position);
    }
    if (position > building.newest.position) building.newest = {event, position};
    return {true, !put<true>(fragment, index, packet, key), position};
}

bool Group::place_in_candidate(std::size_t index, felix::Packet const& packet, Key const& key) {
    if (!candidate_) return false;
    auto& candidate = *candidate_;
    auto const placed = place_in(candidate.building, candidate.building.low, index, packet, key);
    if (!placed.done) return false;
    candidate.streams |= std::uint64_t{1} << index;
    ++candidate.packets;
    ++(placed.duplicate ? candidate.duplicates : candidate.delivered)[index];
    candidate.progress[index] = std::max(candidate.progress[index], placed.position + 1);
    look_at_candidate(false);
    return true;
}

bool Group::is_late(std::uint64_t event) const {
    return event <= newest_.event && (newest_.event - event <= ring_.slots() || ring_.place_of(event).known);
}

// Late packets are of a link that lags behind, or of numbers that began anew: then the newest event stands still.
bool Group::has_fallen_back(Stream& stream) const {
    if (stream.late_streak++ == 0 || stream.late_since != newest_.position) {
        stream.late_streak = 1;
        stream.late_since = newest_.position;
    }
    return stream.late_streak > options_.index.close_after_events;
}

// The first packet of all. Others may come of events before it. What other groups, or the reader before us, have seen
// tells the epoch.
std::uint64_t Group::first_event_of(std::uint32_t raw) const {
    auto const seen = std::max({newest_.event, options_.newest_event, options_.activity->newest_event.load()});
    if (epoch_ticks_ / ticks_ > seen) return (epoch_ticks_ | raw) / ticks_;
    return seen != 0 ? event_of(raw, seen, ticks_) : (kEpoch | raw) / ticks_;
}

// A late packet of an event that the reader before us has closed; unless numbers began anew, where many follow.
bool Group::was_closed_before(Stream& stream, std::uint32_t raw) const {
    auto const event = first_event_of(raw), closed = options_.closed_event;
    return event < closed && closed - event <= ring_.slots() && !has_fallen_back(stream);
}

void Group::begin(std::uint32_t raw) {
    auto const window = options_.index.window_events;
    auto const first = first_event_of(raw), closed = options_.closed_event;
    auto const position = newest_.position + 2 * window + 1;
    current_ = {.newest = {first, position}, .low = position - window};
    if (first >= closed && first - closed < window) current_.low = position - (first - closed);
    open_ = current_.low;
    begun_ = true;
    set_bounds();
    std::uint64_t nobody = 0;
    options_.activity->first_data_ns.compare_exchange_strong(nobody, now_ns_);
}

std::uint64_t Group::next_epoch() const { return (newest_.event * ticks_ / kEpoch + 1) * kEpoch; }

void Group::begin_epoch(std::uint64_t first_ticks) {
    epoch_ticks_ = first_ticks;
    for (auto& stream : streams_) stream->decoder.restart();
    begin_anew();
}

void Group::begin_anew() {
    if (!begun_) return;
    finish();
    if (current_.announced) ring_.end_stretch(open_);
    begun_ = false;
    low_ = limit_ = 0;
}

void Group::propose_jump(std::uint64_t event) {
    auto const window = options_.index.window_events;
    auto const position = newest_.position + 2 * window + 1;
    candidate_.emplace(Candidate{}); // clang takes emplace() for impossible: it asks before Group is complete
    candidate_->building = {.newest = {event, position}, .low = position - window, .limit = position + 2 * window};
    candidate_->since_ns = now_ns_;
    candidate_->since_position = newest_.position;
    current_.limit = candidate_->building.low;
    set_bounds();
}

// A jump counts when most live streams made it. It does not when the others go on for a while.
void Group::look_at_candidate(bool finishing) {
    auto const& candidate = *candidate_;
    bool const most = 2 * std::popcount(candidate.streams) > std::popcount(live_map_);
    auto const progress = newest_.position - candidate.since_position;
    bool const waited = now_ns_ - candidate.since_ns > options_.index.close_after_ns;
    if (most && (finishing || candidate.packets >= kPacketsOfAJump)) {
        accept_candidate();
    } else if (finishing || progress > options_.index.close_after_events || (waited && progress != 0)) {
        reject_candidate();
    }
}

void Group::accept_candidate() {
    if (old_) close_old(0, true);
    auto const candidate = *candidate_;
    candidate_.reset();
    if (!current_.announced && candidate.building.newest.event < current_.newest.event) {
        discard(current_); // the first numbers of all were wrong
    } else {
        old_ = current_;
    }
    current_ = candidate.building;
    current_.limit = ~0ull;
    jumped_ns_ = now_ns_;
    jumps_.add(1);
    for (std::size_t index = 0; index < streams_.size(); ++index) {
        auto& stream = *streams_[index];
        stream.counters.delivered.add(candidate.delivered[index]);
        stream.counters.duplicate.add(candidate.duplicates[index]);
        if (candidate.delivered[index] != 0) {
            note_delivery(stream, std::uint64_t{1} << index, candidate.progress[index]);
        }
    }
    set_bounds();
}

// As if its packets had not come.
void Group::discard(Building const& building) {
    for (auto position = building.lowest; position <= building.newest.position; ++position) {
        auto* const fragment = ring_.slot(position);
        bool const is_there = fragment->event == building.event_of(position);
        for (auto map = is_there ? fragment->stream_map : 0; map != 0; map &= map - 1) {
            auto& counters = streams_[std::countr_zero(map)]->counters;
            counters.delivered.set(counters.delivered.get() - 1);
            counters.orphaned.add(1);
        }
        fragment->event = 0;
    }
    open_ = std::max(open_, current_.low);
}

void Group::reject_candidate() {
    auto const& building = candidate_->building;
    for (auto position = building.lowest; position <= building.newest.position; ++position) {
        ring_.slot(position)->event = 0;
    }
    for (std::size_t index = 0; index < streams_.size(); ++index) {
        auto& stream = *streams_[index];
        stream.counters.orphaned.add(candidate_->delivered[index] + candidate_->duplicates[index]);
        stream.out_of_step |= candidate_->delivered[index] != 0; // until it delivers again
    }
    candidate_.reset();
    current_.limit = ~0ull;
    set_bounds();
}

} // namespace thalweg::readout
