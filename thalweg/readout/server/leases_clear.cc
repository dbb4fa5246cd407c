#include <algorithm>

#include "thalweg/readout/server/leases.h"

namespace thalweg::readout {

// What of it is the owner's to clear, under this seal.
std::vector<EventRange> Leases::own_parts(RangeOwner const& owner, EventRange const& range) const {
    std::vector<EventRange> parts;
    pieces_.visit(range.first, range.end(), [&](auto const& piece) {
        if (piece.value.kind != State::cleared && piece.value.owner == owner)
            parts.push_back({piece.first, piece.end - piece.first});
        return true;
    });
    return parts;
}

bool Leases::is_all_cleared(EventRange const& range) const {
    auto checked = range.first;
    pieces_.visit(range.first, range.end(), [&](auto const& piece) {
        if (piece.value.kind != State::cleared || piece.first != checked) return false;
        checked = piece.end;
        return true;
    });
    return checked >= range.end();
}

// Whether there would be one more if it were cleared: it becomes one, what is left of others beside it stays, and what
// is cleared beside it joins it.
bool Leases::adds_piece(EventRange const& range) const {
    int added = range.first == floor_ ? 0 : 1;
    pieces_.visit(range.first, range.end(), [&](auto const&) { return --added, true; });
    if (auto const left = pieces_.at(range.first - 1); left && range.first > floor_) {
        bool const is_cleared = left->value.kind == State::cleared;
        added += left->end > range.first ? !is_cleared : -is_cleared;
    }
    if (auto const right = pieces_.at(range.end())) {
        bool const is_cleared = right->value.kind == State::cleared;
        added += right->first < range.end() ? !is_cleared : -is_cleared;
    }
    return added > 0;
}

bool Leases::clear(RangeOwner const& owner, EventRange const& range, std::uint64_t now_ns) {
    base::Lock const lock(mutex_);
    if (auto const it = owners_.find(owner.id); it != owners_.end()) it->second.seen_ns = now_ns;
    if (range.end() <= floor_) return relieved_until_ns_.erase(owner.id), true;
    auto const first = std::max(range.first, floor_);
    EventRange const rest{first, range.end() - first};
    for (auto const& part : own_parts(owner, rest)) {
        if (pieces_.size() >= kMaxPieces && adds_piece(part)) return false;
        relieved_until_ns_.erase(owner.id);
        set(part.first, part.end(), {State::cleared, {}});
    }
    bool const done = is_all_cleared(rest);
    raise_floor();
    return done;
}

} // namespace thalweg::readout
