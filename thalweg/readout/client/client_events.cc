#include <algorithm>
#include <cstring>

#include "thalweg/base/error.h"
#include "thalweg/readout/client/client_state.h"

namespace thalweg::readout {

void Client::State::hand_on(EventSink const& sink) {
    for (auto range = ranges.begin(); range != ranges.end();) {
        auto const next = std::next(range);
        if (range->is_whole()) {
            hand_on(*range, sink);
            range->give_back(pool);
            spare_ranges.splice(spare_ranges.begin(), ranges, range);
        }
        range = next;
    }
}

void Client::State::hand_on(Range& range, EventSink const& sink) {
    auto const& id = range.id();
    if (history_run != id.run) history = {};
    history_run = id.run;
    std::uint64_t gone = 0;
    for (auto& index = range.handed_on; index < id.count; ++index) {
        auto const parts_lost = counters.parts_lost, wrong = counters.wrong;
        event = {.run = id.run, .event = id.first + index, .latency_ns = 0};
        if (!put_together(range, index)) {
            ++gone;
            continue;
        }
        if (history.contains(event.event)) {
            ++counters.duplicates;
            continue;
        }
        event.latency_ns = range.latency_ns(index);
        event.fragments = fragments;
        try {
            if (sink.event) sink.event(event);
        } catch (...) { // the next run() goes on with this event
            counters.parts_lost = parts_lost, counters.wrong = wrong;
            throw;
        }
        ++counters.events;
        ++(event.state == EventState::complete ? counters.complete : counters.incomplete);
        counters.fragments += fragments.size();
        counters.bytes += event_bytes;
    }
    history.add(id.first, range.end());
    if (gone == id.count && options.role == Role::observer) sample_at = ~0ull; // too late: see what there is now
    if (sink.end_of_range && options.role == Role::collector) sink.end_of_range(id);
}

// Of one event, what all handlers have. False: that is nothing, and it is counted why.
bool Client::State::put_together(Range& range, std::uint64_t index) {
    fragments.clear();
    event_bytes = 0;
    bool evicted = false, lost = false, cleared = false;
    auto const wrong_before = counters.wrong;
    for (std::size_t handler = 0; handler < handlers.size(); ++handler) {
        auto const& piece = range.piece(handler, index);
        counters.parts_lost += piece.lost ? 1 : 0;
        lost |= piece.lost;
        evicted |= piece.state == EventState::evicted;
        cleared |= piece.state == EventState::cleared;
        if (piece.state == EventState::incomplete) event.state = EventState::incomplete;
        auto const before = fragments.size();
        read_fragments(piece);
        if (fragments.size() == before) ++event.handlers_missing;
    }
    if (event.handlers_missing > 0 || counters.wrong != wrong_before) event.state = EventState::incomplete;
    if (evicted) event.state = EventState::evicted;
    if (!fragments.empty()) return true;
    if (lost || counters.wrong != wrong_before) {
        ++counters.lost;
    } else {
        ++(evicted ? counters.evicted : cleared ? counters.cleared : counters.absent);
    }
    return false;
}

// Fragments that are not what they should be are counted, and never handed on.
void Client::State::read_fragments(Piece const& piece) {
    std::span<std::byte const> rest{piece.data, piece.bytes};
    for (std::uint16_t i = 0; i < piece.fragments; ++i) {
        try {
            FragmentView const& view = fragments.emplace_back(rest);
            auto const bytes = view.bytes().size();
            rest = rest.subspan(bytes);
            if (view.header().event == event.event && view.header().run == event.run) {
                event_bytes += bytes;
            } else {
                fragments.pop_back();
                ++counters.wrong;
            }
        } catch (base::DataError const&) {
            counters.wrong += piece.fragments - i; // where the next one would begin is not known
            return;
        }
    }
    if (!rest.empty()) ++counters.wrong; // bytes that belong to nothing
}

} // namespace thalweg::readout
