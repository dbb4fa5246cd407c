#include "thalweg/readout/builder/open_stretches.h"

#include <algorithm>

#include "thalweg/base/assert.h"

namespace thalweg::readout {

OpenStretches::OpenStretches(GroupContext& context, GroupStreams& streams, FragmentWriter& writer, EventCloser& closer,
                             RingRoom const& room)
    : context_(context), streams_(streams), writer_(writer), closer_(closer), room_(room),
      numbers_(context.slices ? context.options.trigger.slice_ticks : 1) {}

Window OpenStretches::window() const {
    if (!begun_) return {.newest = current_.newest_event(), .shift = 0, .low = 0, .room = 0, .limit = 0};
    auto window = current_.window(closer_.watermark(), room_.end(), context_.options.index.window_events);
    window.limit = std::min(window.limit, left_from_);
    window.room = std::min(window.room, left_from_ - std::min(left_from_, window.low));
    return window;
}

void OpenStretches::place(std::size_t index, felix::Packet const& packet, PacketKey const& key) {
    auto& stream = streams_[index];
    if (is_left(key.raw)) {
        stream.counters.left.add(1);
        return;
    }
    if (!begun_) {
        if (was_closed_before(stream, key.raw)) {
            stream.counters.late.add(1);
            return;
        }
        begin(key.raw);
    }
    if (place_now(index, packet, key) || place_in_candidate(index, packet, key)) return;
    auto const event = numbers_.event_of(key.raw, current_.newest_event());
    if (candidate_ && event - current_.newest_event() < context_.options.index.window_events) {
        reject_candidate(); // the other streams went as far as the window allows
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
    bool const is_ahead = event > current_.newest_event() || !current_.is_announced();
    propose_jump(is_ahead ? event : event + numbers_.events_of_an_epoch());
    if (!place_in_candidate(index, packet, key)) stream.counters.out_of_window.add(1);
}

// A run that is about to end begins no event, so all packets of a group that has not begun are left, too.
bool OpenStretches::is_left(std::uint32_t raw) const {
    return left_from_ != ~0ull && (!begun_ || numbers_.event_of(raw, current_.newest_event()) >= left_from_);
}

// Places a packet in the newest stretch, or in the one before it while that one is open.
bool OpenStretches::place_now(std::size_t index, felix::Packet const& packet, PacketKey const& key) {
    auto placed = place_in(current_, packet, index, key);
    if (!placed.done && old_) placed = place_in(*old_, packet, index, key);
    if (!placed.done) return false;
    auto& counters = streams_[index].counters;
    (placed.duplicate ? counters.duplicate : counters.delivered).add(1);
    if (!placed.duplicate) streams_.note_delivery(index, placed.position + 1);
    return true;
}

OpenStretches::PlacedPacket OpenStretches::place_in(OpenStretch& stretch, felix::Packet const& packet,
                                                    std::size_t index, PacketKey const& key) {
    auto const event = numbers_.event_of(key.raw, stretch.newest_event());
    auto const window = stretch.window(closer_.watermark(), room_.end(), context_.options.index.window_events);
    if (!window.holds(event)) return {};
    auto const position = event + window.shift;
    auto* const fragment = context_.ring.slot(position);
    if (fragment->event != event) {
        writer_.begin(fragment, event, key);
        stretch.begin_event(position);
    }
    if (event > stretch.newest_event()) stretch.advance_to(event);
    return {true, !writer_.put<true>(fragment, index, packet, key), position};
}

bool OpenStretches::is_late(std::uint64_t event) const {
    auto const newest = current_.newest_event();
    auto const& ring = context_.ring;
    return event <= newest && (newest - event <= ring.slots() || ring.place_of(event).known);
}

bool OpenStretches::has_fallen_back(GroupStream& stream) const {
    return stream.late.is_longer(context_.options.index.close_after_events, current_.newest_position());
}

// Returns the event of the very first packet; packets of earlier events may follow. What other groups or the previous
// reader have seen decides the epoch.
std::uint64_t OpenStretches::first_event_of(std::uint32_t raw) const {
    auto const& options = context_.options;
    return numbers_.first_event(
        raw, std::max({current_.newest_event(), options.newest_event, options.activity->newest_event.load()}));
}

// Returns whether this is a late packet of an event that the previous reader has closed. If many such packets follow,
// event numbers began again.
bool OpenStretches::was_closed_before(GroupStream& stream, std::uint32_t raw) const {
    auto const event = first_event_of(raw), closed = context_.options.closed_event;
    return event < closed && closed - event <= context_.ring.slots() && !has_fallen_back(stream);
}

void OpenStretches::begin(std::uint32_t raw) {
    auto const window = context_.options.index.window_events;
    auto const first = first_event_of(raw), closed = context_.options.closed_event;
    auto const position = next_position();
    bool const goes_on = first >= closed && first - closed < window; // continues after the previous reader
    current_ = OpenStretch(first, position, goes_on ? position - (first - closed) : position - window);
    closer_.skip_to(current_.low());
    begun_ = true;
    context_.options.activity->began(context_.now_ns);
}

void OpenStretches::begin_epoch(std::uint64_t first_ticks) {
    numbers_.begin_epoch(first_ticks);
    streams_.restart();
    if (!begun_) return;
    THALWEG_ASSERT(!old_ && !candidate_ &&
                       (current_.is_empty() || closer_.watermark() == current_.newest_position() + 1),
                   "an epoch ends when all its events are closed");
    if (current_.is_announced()) context_.ring.end_stretch(closer_.watermark());
    begun_ = false;
}

void OpenStretches::close(bool finishing) {
    if (candidate_) look_at_candidate(finishing);
    auto const passed = finishing ? 0 : streams_.passed_position();
    if (old_) close_old(passed, finishing);
    if (!old_ && begun_) closer_.close(current_, passed, finishing);
    THALWEG_ASSERT(!finishing || (!old_ && !candidate_), "what is finished leaves no other stretch open");
    check();
}

// Closes the stretch before the jump when every stream has left it.
void OpenStretches::close_old(std::uint64_t passed, bool finishing) {
    auto const end = old_->newest_position() + 1;
    if (!old_->is_empty()) {
        closer_.close(*old_, passed, finishing);
        if (!old_->is_announced() || closer_.watermark() < end) return;
    }
    bool const is_over = context_.now_ns - jumped_ns_ > context_.options.index.close_after_ns;
    if (!finishing && passed <= end && !is_over) return;
    if (old_->is_announced()) context_.ring.end_stretch(end);
    old_.reset();
    closer_.skip_to(current_.low());
}

void OpenStretches::check() const {
    THALWEG_ASSERT(!old_ || old_->limit() <= current_.low(), "stretches share no slot");
    THALWEG_ASSERT(!candidate_ || current_.limit() <= candidate_->stretch().low(), "stretches share no slot");
    THALWEG_ASSERT(!begun_ || closer_.watermark() <= current_.newest_position() + 1,
                   "nothing is closed behind the newest event");
}

} // namespace thalweg::readout
