#include "thalweg/readout/builder/event_closer.h"

#include "thalweg/base/assert.h"

namespace thalweg::readout {

bool HoleWait::is_over(std::uint64_t position, std::uint64_t now_ns, std::uint64_t patience_ns) {
    if (position_ != position) {
        // Holes that follow a hole whose wait is over have the same age: their waiting times do not add up.
        bool const follows = position_ != ~0ull && position_ + 1 == position && now_ns - since_ns_ > patience_ns;
        if (!follows) since_ns_ = now_ns;
        position_ = position;
    }
    return now_ns - since_ns_ > patience_ns;
}

void EventCloser::close(OpenStretch& stretch, std::uint64_t passed, bool finishing) {
    auto& ring = context_.ring;
    auto const end = stretch.newest_position() + 1;
    // Events before the first packet of a stretch never existed.
    auto position = stretch.is_announced() ? watermark_ : stretch.lowest();
    THALWEG_ASSERT(position >= watermark_ && position >= stretch.low(),
                   "an event is closed once, in a stretch of its own");
    for (; position < end; ++position) {
        auto* const slot = ring.slot(position);
        auto* const fragment = slot->event == stretch.event_of(position) ? slot : nullptr;
        auto const why = reason_to_close(fragment, position, passed, finishing);
        if (!why) break;
        if (!stretch.is_announced()) { // its beginning is known only now
            ring.begin_stretch(stretch.event_of(position), position);
            stretch.announce();
        }
        watermark_ = position + 1;
        ring.note_closed(position, fragment != nullptr);
        if (fragment != nullptr) {
            finish(fragment, *why);
        } else {
            absent_.add(1);
        }
    }
    THALWEG_ASSERT(!finishing || position >= end, "what is finished leaves no event open");
    open_events_.set(position < end ? end - position : 0);
}

std::optional<std::uint32_t> EventCloser::reason_to_close(FragmentHeader const* fragment, std::uint64_t position,
                                                          std::uint64_t passed, bool finishing) {
    bool const is_passed = position < passed;
    auto const patience_ns = context_.options.index.close_after_ns;
    if (fragment == nullptr) {
        bool const is_absent = is_passed || finishing || hole_.is_over(position, context_.now_ns, patience_ns);
        return is_absent ? std::optional<std::uint32_t>(0) : std::nullopt;
    }
    auto const enabled = streams_.enabled_map();
    auto const missing = context_.slices ? enabled & ~streams_.live_map() : enabled & ~fragment->stream_map;
    auto const complete = context_.slices ? is_passed && missing == 0 : missing == 0;
    if (complete) return 0;
    if (is_passed || (finishing && context_.slices && missing == 0)) {
        return missing == 0 ? 0 : kIncomplete | streams_.why_missing(missing, position);
    }
    auto const age_us = static_cast<std::uint32_t>(context_.now_ns / 1000) - fragment->build_us;
    bool const is_old = age_us > patience_ns / 1000;
    if (!is_old && !finishing) return std::nullopt;
    return kIncomplete | (is_old ? kTimedOut : 0) | streams_.why_missing(missing, position);
}

void EventCloser::finish(FragmentHeader* fragment, std::uint32_t status) {
    writer_.finish(fragment, status);
    ((status & kIncomplete) != 0 ? incomplete_ : complete_).add(1);
    if ((status & kTimedOut) != 0) timed_out_.add(1);
}

void EventCloser::publish(OpenStretch const& oldest) {
    if (oldest.is_announced()) closed_event_ = oldest.event_of(watermark_);
    context_.ring.publish(oldest.is_announced() || closed_event_ != 0 ? watermark_ : 0, closed_event_);
}

} // namespace thalweg::readout
