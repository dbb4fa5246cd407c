// Jumps of the event number: proposed by one stream, accepted when most have made them.
#include <bit>

#include "thalweg/base/assert.h"
#include "thalweg/readout/builder/open_stretches.h"

namespace thalweg::readout {

bool OpenStretches::place_in_candidate(std::size_t index, felix::Packet const& packet, PacketKey const& key) {
    if (!candidate_) return false;
    auto const placed = place_in(candidate_->stretch(), packet, index, key);
    if (!placed.done) return false;
    candidate_->note(index, placed.duplicate, placed.position);
    look_at_candidate(false);
    return true;
}

void OpenStretches::propose_jump(std::uint64_t event) {
    auto const window = context_.options.index.window_events;
    auto const position = next_position();
    candidate_.emplace(OpenStretch(event, position, position - window, position + 2 * window),
                       current_.newest_position(), context_.now_ns);
    current_.end_before(candidate_->stretch().low());
    check();
}

void OpenStretches::look_at_candidate(bool finishing) {
    switch (candidate_->judge(streams_.live_map(), current_.newest_position(), context_.now_ns, context_.options.index,
                              finishing)) {
    case JumpCandidate::Verdict::open:
        return;
    case JumpCandidate::Verdict::accepted:
        return accept_candidate();
    case JumpCandidate::Verdict::rejected:
        return reject_candidate();
    }
}

void OpenStretches::accept_candidate() {
    if (old_) close_old(0, true);
    auto const candidate = *candidate_;
    candidate_.reset();
    auto const before = current_;
    current_ = candidate.stretch();
    current_.go_on();
    if (!before.is_announced() && current_.newest_event() < before.newest_event()) {
        discard(before); // the very first numbers were wrong
    } else {
        old_ = before;
    }
    jumped_ns_ = context_.now_ns;
    jumps_.add(1);
    for (std::size_t index = 0; index < streams_.size(); ++index) {
        auto& counters = streams_[index].counters;
        auto const& share = candidate.share_of(index);
        counters.delivered.add(share.delivered);
        counters.duplicate.add(share.duplicates);
        if (share.delivered != 0) streams_.note_delivery(index, share.progress);
    }
    check();
}

// Removes the stretch as if its packets had not come.
void OpenStretches::discard(OpenStretch const& stretch) {
    auto const end = stretch.newest_position() + 1;
    for (auto position = stretch.lowest(); position < end; ++position) {
        auto* const fragment = context_.ring.slot(position);
        bool const is_there = fragment->event == stretch.event_of(position);
        for (auto map = is_there ? fragment->stream_map : 0; map != 0; map &= map - 1) {
            auto& counters = streams_[std::countr_zero(map)].counters;
            counters.delivered.set(counters.delivered.get() - 1);
            counters.orphaned.add(1);
        }
        fragment->event = 0;
    }
    closer_.skip_to(stretch.low());
}

void OpenStretches::reject_candidate() {
    auto const& stretch = candidate_->stretch();
    for (auto position = stretch.lowest(); position <= stretch.newest_position(); ++position) {
        context_.ring.slot(position)->event = 0;
    }
    for (std::size_t index = 0; index < streams_.size(); ++index) {
        auto const& share = candidate_->share_of(index);
        streams_[index].counters.orphaned.add(share.packets());
        streams_[index].out_of_step |= share.delivered != 0; // until it delivers again
    }
    candidate_.reset();
    current_.go_on();
}

} // namespace thalweg::readout
