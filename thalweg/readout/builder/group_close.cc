// Rule 2: when an event is finished, and what is then said of it. Events are closed in their order.
#include <algorithm>
#include <bit>
#include <cstring>

#include "thalweg/base/units.h"
#include "thalweg/readout/builder/group.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kLookNs = 1'000'000; // for dead links
constexpr std::uint64_t kFarBehind = 1ull << 30;

} // namespace

void Group::tick(std::uint64_t now_ns) {
    now_ns_ = now_ns;
    if (!begun_) return publish();
    newest_event_.set(newest_.event);
    auto& newest = options_.activity->newest_event;
    for (auto seen = newest.load(); seen < newest_.event && !newest.compare_exchange_weak(seen, newest_.event);) {
    }
    look_for_dead();
    if (candidate_) look_at_candidate(false);
    auto const passed = passed_position();
    if (old_) close_old(passed, false);
    if (!old_) close_up_to(current_, newest_.position + 1, passed, false);
    publish();
}

void Group::finish() {
    if (candidate_) look_at_candidate(true);
    if (old_) close_old(0, true);
    if (begun_) close_up_to(current_, newest_.position + 1, 0, true);
    newest_event_.set(newest_.event);
    publish();
}

// Every live stream is so far that packets before this position will not come any more.
std::uint64_t Group::passed_position() const {
    auto const distance = slices_ ? 1 : options_.index.close_after_events;
    std::uint64_t passed = ~0ull;
    for (auto map = live_map_; map != 0; map &= map - 1) {
        passed = std::min(passed, streams_[std::countr_zero(map)]->progress);
    }
    return live_map_ != 0 && passed > distance ? passed - distance : 0;
}

// A link is dead when it is silent while others go on; then nobody waits for it.
void Group::look_for_dead() {
    if (now_ns_ < next_look_ns_) return;
    next_look_ns_ = now_ns_ + kLookNs;
    auto const newest = options_.activity->newest_event.load(std::memory_order_relaxed);
    for (auto map = live_map_; map != 0; map &= map - 1) {
        auto const index = std::countr_zero(map);
        auto& stream = *streams_[index];
        bool const is_silent = now_ns_ > stream.last_packet_ns + options_.index.dead_after_ns;
        if (!is_silent || current_.event_of(stream.progress) + options_.index.close_after_events >= newest) continue;
        live_map_ &= ~(std::uint64_t{1} << index);
        stream.live.set(0);
        stream.deaths.add(1);
    }
}

// The stretch before the jump, until every stream has left it.
void Group::close_old(std::uint64_t passed, bool finishing) {
    auto const end = old_->newest.position + 1;
    auto const patience_ns = options_.index.close_after_ns;
    if (old_->announced || old_->lowest != ~0ull) close_up_to(*old_, end, passed, finishing);
    if (old_->lowest != ~0ull && (!old_->announced || open_ < end)) return;
    if (!finishing && passed <= end && now_ns_ - jumped_ns_ <= patience_ns) return;
    if (old_->announced) ring_.end_stretch(end);
    old_.reset();
    open_ = std::max(open_, current_.low);
    set_bounds();
}

void Group::close_up_to(Building& building, std::uint64_t end, std::uint64_t passed, bool finishing) {
    // Events before the first packet of a stretch never were.
    auto position = building.announced ? open_ : building.lowest;
    for (; position < end; ++position) {
        auto* const slot = ring_.slot(position);
        auto* const fragment = slot->event == building.event_of(position) ? slot : nullptr;
        auto const why = reason_to_close(fragment, position, passed, finishing);
        if (!why) break;
        if (!building.announced) announce(building);
        open_ = position + 1;
        ring_.note_closed(position, fragment != nullptr);
        if (fragment != nullptr) {
            close_fragment(fragment, *why);
        } else {
            absent_.add(1);
        }
    }
    open_events_.set(position < end ? end - position : 0);
    set_bounds();
}

std::optional<std::uint32_t> Group::reason_to_close(FragmentHeader const* fragment, std::uint64_t position,
                                                    std::uint64_t passed, bool finishing) {
    bool const is_passed = position < passed;
    if (fragment == nullptr) {
        bool const is_absent = is_passed || finishing || is_old_hole(position);
        return is_absent ? std::optional<std::uint32_t>(0) : std::nullopt;
    }
    auto const missing = slices_ ? enabled_map_ & ~live_map_ : enabled_map_ & ~fragment->stream_map;
    auto const complete = slices_ ? is_passed && missing == 0 : missing == 0;
    if (complete) return 0;
    if (is_passed || (finishing && slices_ && missing == 0)) {
        return missing == 0 ? 0 : kIncomplete | why_missing(missing, position);
    }
    auto const age_us = static_cast<std::uint32_t>(now_ns_ / 1000) - fragment->build_us;
    bool const is_old = age_us > options_.index.close_after_ns / 1000;
    if (is_old || finishing) return kIncomplete | (is_old ? kTimedOut : 0) | why_missing(missing, position);
    return std::nullopt;
}

// An event without any packet has no age; it has that of our waiting for it.
bool Group::is_old_hole(std::uint64_t position) {
    if (hole_ != position) {
        // Holes behind one that was waited for long enough are as old: they do not add up their waiting.
        bool const follows =
            hole_ != ~0ull && hole_ + 1 == position && now_ns_ - hole_since_ns_ > options_.index.close_after_ns;
        if (!follows) hole_since_ns_ = now_ns_;
        hole_ = position;
    }
    return now_ns_ - hole_since_ns_ > options_.index.close_after_ns;
}

std::uint32_t Group::why_missing(std::uint64_t missing, std::uint64_t position) const {
    std::uint32_t why = 0;
    for (auto map = missing; map != 0; map &= map - 1) {
        auto const index = std::countr_zero(map);
        auto const first = streams_[index]->first;
        if ((live_map_ >> index & 1) == 0) why |= kDeadLink;
        if (first != ~0ull && first > position) why |= kRestart;
    }
    return why;
}

void Group::close_fragment(FragmentHeader* fragment, std::uint32_t status) {
    fragment->status |= status;
    fragment->build_us = static_cast<std::uint32_t>(now_ns_ / 1000) - fragment->build_us;
    if (hook_) rewrite(fragment);
    typical_bytes_ = fragment->length_bytes;
    if (options_.index.checksum) {
        fragment->checksum = 0;
        fragment->checksum = checksum_of({reinterpret_cast<std::byte const*>(fragment), fragment->length_bytes});
    }
    ((status & kIncomplete) != 0 ? incomplete_ : complete_).add(1);
    if ((status & kTimedOut) != 0) timed_out_.add(1);
}

void Group::rewrite(FragmentHeader* fragment) {
    auto* const body = reinterpret_cast<std::byte*>(fragment) + fragment->header_bytes;
    auto const capacity = options_.group.fragment_bytes - fragment->header_bytes;
    auto const size = fragment->length_bytes - fragment->header_bytes;
    auto const rewritten = hook_->rewrite(fragment->event, body, size, capacity);
    if (rewritten.failed) {
        fragment->status |= kHookFailed;
        hook_failures_.add(1);
    }
    if (hook_->was_late()) fragment->status |= kHookLate;
    hook_overruns_.set(hook_->overruns());
    if (!rewritten.done) return;
    auto const padded = base::round_up(rewritten.size_bytes, kPayloadAlignment);
    std::memset(body + rewritten.size_bytes, 0, padded - rewritten.size_bytes);
    std::memset(reinterpret_cast<std::byte*>(fragment + 1), 0, fragment->header_bytes - sizeof *fragment);
    fragment->length_bytes = static_cast<std::uint32_t>(fragment->header_bytes + padded);
    fragment->status |= kRewritten;
}

// Only now is it sure where the stretch begins.
void Group::announce(Building& building) {
    ring_.begin_stretch(building.event_of(building.lowest), building.lowest);
    building.announced = true;
    open_ = building.lowest;
}

void Group::publish() {
    if (is_nobody()) {
        ring_.publish(open_, EventRing::kNobody);
        return;
    }
    auto const& building = old_ ? *old_ : current_;
    if (building.announced) closed_event_ = building.event_of(open_);
    ring_.publish(building.announced || closed_event_ != 0 ? open_ : 0, closed_event_);
}

// A group of dead links holds up nobody, as long as others go on without it.
bool Group::is_nobody() const {
    auto const& activity = *options_.activity;
    auto const began_ns = activity.first_data_ns.load(std::memory_order_relaxed);
    if (live_map_ != 0 || began_ns == 0 || open_events_.get() != 0) return false;
    auto const newest = activity.newest_event.load(std::memory_order_relaxed);
    return newest > newest_.event + options_.index.close_after_events &&
           now_ns_ > std::max(began_ns, last_data_ns_) + options_.index.dead_after_ns;
}

bool Group::find_room() {
    room_end_ = ring_.usable_before() + ring_.slots();
    if (newest_.position + margin_ > room_end_ && options_.index.when_full == WhenFull::evict) {
        ring_.evict_before(std::min(newest_.position + margin_ - ring_.slots(), ring_.closed_position()));
        room_end_ = ring_.usable_before() + ring_.slots();
    }
    set_bounds();
    return newest_.position + margin_ <= room_end_;
}

} // namespace thalweg::readout
