#include "thalweg/readout/client/event_assembler.h"

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/readout/event_state.h"

namespace thalweg::readout {

void EventAssembler::begin_run(std::uint32_t run) {
    if (std::exchange(run_, run) == run) return;
    handed_on_ = {};
    for (auto& events : lacking_) events = {};
}

bool EventAssembler::hand_on(ClientRange& range, std::uint64_t count, EventSink const& sink) {
    auto const& id = range.id();
    THALWEG_ASSERT(id.first + count <= range.whole_before(), "only what all handlers have answered is handed on");
    begin_run(id.run);
    auto const begun = range.handed_on;
    std::uint64_t gone = 0;
    for (auto& index = range.handed_on; index < count; ++index) {
        auto const parts_lost = counters_.parts_lost, wrong = counters_.wrong;
        event_ = {.run = id.run, .event = id.first + index, .latency_ns = 0};
        if (!put_together(range, index)) {
            ++gone;
            continue;
        }
        if (handed_on_.contains(event_.event)) {
            ++counters_.duplicates;
            counters_.too_late += is_too_late(range, index) ? 1 : 0;
            continue;
        }
        event_.latency_ns = range.latency_ns(index);
        event_.fragments = fragments_;
        try {
            if (sink.event) sink.event(event_);
        } catch (...) { // the next run() goes on with this event
            counters_.parts_lost = parts_lost, counters_.wrong = wrong;
            throw;
        }
        ++counters_.events;
        ++(event_.state == EventState::complete ? counters_.complete : counters_.incomplete);
        counters_.overflowing += (status_ & kOverflow) != 0;
        counters_.flagged += (status_ & kErrors & ~kOverflow) != 0;
        if (event_.state != EventState::complete) note_missing(range, index);
        counters_.fragments += fragments_.size();
        counters_.bytes += event_bytes_;
    }
    handed_on_.add(id.first, id.first + count);
    return begun == count || gone < count - begun;
}

void EventAssembler::note_missing(ClientRange const& range, std::uint64_t index) {
    for (std::size_t handler = 0; handler < handlers_; ++handler) {
        auto const& part = range.event_part(handler, index);
        missing_parts_[handler].without += part.fragments == 0;
        missing_parts_[handler].in_part += part.fragments != 0 && part.state != EventState::complete;
        if (part.fragments == 0) lacking_[handler].add(event_.event, event_.event + 1);
    }
}

// Returns whether a handler has now what the event lacked when it was handed on. The handler counts it as cleared.
bool EventAssembler::is_too_late(ClientRange const& range, std::uint64_t index) const {
    for (std::size_t handler = 0; handler < handlers_; ++handler)
        if (range.event_part(handler, index).fragments != 0 && lacking_[handler].contains(event_.event)) return true;
    return false;
}

// Collects what all handlers have of one event. Returns false if there is nothing, and counts why.
bool EventAssembler::put_together(ClientRange const& range, std::uint64_t index) {
    fragments_.clear();
    event_bytes_ = status_ = 0;
    JoinedState joined;
    auto const wrong_before = counters_.wrong;
    for (std::size_t handler = 0; handler < handlers_; ++handler) {
        auto const& part = range.event_part(handler, index);
        counters_.parts_lost += part.lost ? 1 : 0;
        auto const before = fragments_.size();
        read_fragments(part);
        bool const is_missing = fragments_.size() == before;
        if (is_missing) ++event_.handlers_missing;
        joined.add(part.state, part.lost, is_missing);
    }
    if (counters_.wrong != wrong_before) joined.lose();
    event_.state = joined.of_event();
    if (!fragments_.empty()) return true;
    switch (joined.of_nothing()) {
    case JoinedState::Nothing::lost:
        ++counters_.lost;
        break;
    case JoinedState::Nothing::evicted:
        ++counters_.evicted;
        break;
    case JoinedState::Nothing::cleared:
        ++counters_.cleared;
        break;
    case JoinedState::Nothing::absent:
        ++counters_.absent;
    }
    return false;
}

// Damaged fragments are counted, and never handed on.
void EventAssembler::read_fragments(EventPart const& part) {
    std::span<std::byte const> rest{part.data, part.bytes};
    for (std::uint16_t i = 0; i < part.fragments; ++i) {
        try {
            FragmentView const& view = fragments_.emplace_back(rest);
            auto const bytes = view.bytes().size();
            rest = rest.subspan(bytes);
            if (view.header().event == event_.event && view.header().run == event_.run) {
                event_bytes_ += bytes;
                status_ |= view.header().status;
            } else {
                fragments_.pop_back();
                ++counters_.wrong;
            }
        } catch (base::DataError const&) {
            counters_.wrong += part.fragments - i; // the place of the next fragment is unknown
            return;
        }
    }
    if (!rest.empty()) ++counters_.wrong; // bytes that belong to no fragment
}

} // namespace thalweg::readout
