// Clearing ranges, and giving up those that no collector clears.
#include "thalweg/readout/server/leases.h"

#include <algorithm>

#include "thalweg/base/assert.h"

namespace thalweg::readout {
namespace {

constexpr std::size_t kMaxForgotten = 1024;

} // namespace

// Returns the parts of the range that the owner may clear under this seal.
std::vector<EventSpan> Leases::own_parts(RangeOwner const& owner, EventSpan const& range) const {
    std::vector<EventSpan> parts;
    pieces_.visit(range.first, range.end(), [&](auto const& piece) {
        if (piece.value.kind != Ownership::cleared && piece.value.owner == owner)
            parts.push_back({piece.first, piece.end - piece.first});
        return true;
    });
    return parts;
}

bool Leases::is_all_cleared(EventSpan const& range) const {
    auto checked = range.first;
    pieces_.visit(range.first, range.end(), [&](auto const& piece) {
        if (piece.value.kind != Ownership::cleared || piece.first != checked) return false;
        checked = piece.end;
        return true;
    });
    return checked >= range.end();
}

// Returns whether clearing the range would add a piece: it becomes one piece, the remains of others beside it stay, and
// cleared neighbours join it.
bool Leases::adds_piece(EventSpan const& range) const {
    int added = range.first == floor_ ? 0 : 1;
    pieces_.visit(range.first, range.end(), [&](auto const&) { return --added, true; });
    if (auto const left = pieces_.at(range.first - 1); left && range.first > floor_) {
        bool const is_cleared = left->value.kind == Ownership::cleared;
        added += left->end > range.first ? !is_cleared : -is_cleared;
    }
    if (auto const right = pieces_.at(range.end())) {
        bool const is_cleared = right->value.kind == Ownership::cleared;
        added += right->first < range.end() ? !is_cleared : -is_cleared;
    }
    return added > 0;
}

bool Leases::clear(RangeOwner const& owner, EventSpan const& range, std::uint64_t now_ns) {
    base::Lock const lock(mutex_);
    if (auto const it = owners_.find(owner.id); it != owners_.end()) it->second.seen_ns = now_ns;
    auto const end = std::min(range.end(), end_);
    auto const first = std::max(range.first, floor_);
    if (end <= first) return relieved_until_ns_.erase(owner.id), true;
    EventSpan const rest{first, end - first};
    for (auto const& part : own_parts(owner, rest)) {
        if (pieces_.size() >= kMaxPieces && adds_piece(part)) return false;
        relieved_until_ns_.erase(owner.id);
        set(part.first, part.end(), {Ownership::cleared, {}});
    }
    bool const done = is_all_cleared(rest);
    THALWEG_ASSERT(!done || !another_owner_has(owner.id, rest), "a cleared range has no owner");
    raise_floor();
    return done;
}

void Leases::forget_before(std::uint64_t event) {
    base::Lock const lock(mutex_);
    if (begin_ == 0) {
        begin_ = event;
        set(floor_, event, {Ownership::cleared, {}});
        raise_floor();
    }
    if (event <= floor_) return;
    forget(event, Forgotten::evicted);
}

void Leases::forget(std::uint64_t end, Forgotten::Why why) {
    forgotten_.assign(floor_, end, why);
    auto* const forgotten = &forgotten_; // as in set(): the lambda runs under the mutex, too
    pieces_.visit(floor_, end, [&](auto const& piece) {
        if (piece.value.kind == Ownership::cleared) forgotten->erase(piece.first, piece.end);
        return true;
    });
    while (forgotten_.size() > kMaxForgotten) forgotten_.pop_front();
    set(floor_, end, {Ownership::cleared, {}});
    raise_floor();
}

std::vector<Forgotten> Leases::forgotten() const {
    base::Lock const lock(mutex_);
    std::vector<Forgotten> all;
    if (begin_ != 0) all.push_back({0, begin_, Forgotten::evicted});
    forgotten_.visit(begin_, floor_, [&](auto const& piece) {
        all.push_back({piece.first, piece.end, piece.value});
        return true;
    });
    return all;
}

std::vector<EventSpan> Leases::cleared_ahead() const {
    base::Lock const lock(mutex_);
    std::vector<EventSpan> all;
    pieces_.visit(floor_, kNever, [&](auto const& piece) {
        if (piece.value.kind == Ownership::cleared) all.push_back({piece.first, piece.end - piece.first});
        return true;
    });
    return all;
}

std::uint64_t Leases::skip_unclaimed(std::uint64_t now_ns, bool is_full) {
    base::Lock const lock(mutex_);
    auto const piece = pieces_.at(floor_);
    bool const is_free = !piece || piece->value.kind == Ownership::returned;
    auto const next = piece ? piece->end : pieces_.next_begin(floor_, far_ahead_);
    // If no collector is alive, none could have asked. The next one may.
    if (gives_ || !is_free || next == kNever || !any_collector_lives(now_ns)) {
        blocked_at_ = kNever;
        return 0;
    }
    if (blocked_at_ != floor_) {
        blocked_at_ = floor_;
        blocked_since_ns_ = now_ns;
    }
    auto const patience_ns = piece ? 2 * lease_ns_ : lease_ns_;
    if (!is_full || now_ns - blocked_since_ns_ <= patience_ns) return 0;
    auto const skipped = next - floor_;
    forget(next, Forgotten::skipped);
    return skipped;
}

} // namespace thalweg::readout
