#include "thalweg/readout/server/leases.h"

#include <algorithm>

#include "thalweg/base/assert.h"

namespace thalweg::readout {
namespace {

constexpr std::size_t kMaxRelieved = 1024;
constexpr std::uint64_t kQuietNs = 1'000'000'000; // after so long without a request, all clients have what they know of

} // namespace

void Leases::set_lease_ns(std::uint64_t lease_ns, std::uint64_t longest_ns) {
    base::Lock const lock(mutex_);
    lease_ns_ = lease_ns;
    longest_ns_ = longest_ns;
}

void Leases::set(std::uint64_t first, std::uint64_t end, Ownership const& state) {
    if (first >= end) return;
    auto* const owners = &owners_; // the lambda runs under the mutex, too, but cannot be annotated
    std::uint64_t no_longer_owned = 0;
    pieces_.visit(first, end, [&](auto const& piece) {
        THALWEG_ASSERT(piece.value.kind != Ownership::cleared || state.kind == Ownership::cleared, "cleared is final");
        if (piece.value.kind != Ownership::owned) return true;
        auto const owner = owners->find(piece.value.owner.id);
        THALWEG_ASSERT(owner != owners->end(), "an owned range has an owner with an account");
        owner->second.events -= piece.end - piece.first;
        no_longer_owned += piece.end - piece.first;
        if (owner->second.events == 0) owners->erase(owner);
        return true;
    });
    THALWEG_ASSERT(no_longer_owned <= outstanding_, "outstanding events are owned events");
    outstanding_ -= no_longer_owned;
    pieces_.assign(first, end, state);
}

std::vector<EventSpan> Leases::free_in(std::uint64_t first, std::uint64_t end) const {
    std::vector<EventSpan> gaps;
    auto from = first;
    pieces_.visit(first, end, [&](auto const& piece) {
        if (piece.value.kind == Ownership::returned) return true;
        if (piece.first > from) gaps.push_back({from, piece.first - from});
        from = piece.end;
        return true;
    });
    if (end > from) gaps.push_back({from, end - from});
    return gaps;
}

void Leases::own(RangeOwner const& owner, std::uint64_t first, std::uint64_t end, std::uint64_t now_ns) {
    set(first, end, {Ownership::owned, owner, now_ns});
    auto& it = owners_[owner.id];
    it.events += end - first;
    it.seen_ns = now_ns;
    outstanding_ += end - first;
    next_expiry_ns_ = std::min(next_expiry_ns_, now_ns + lease_ns_);
}

void Leases::return_all(OwnerId const& owner, std::uint64_t now_ns) {
    if (!owners_.contains(owner)) return;
    std::vector<IntervalMap<Ownership>::Interval> owned;
    pieces_.visit(floor_, kNever, [&](auto const& piece) {
        if (piece.value.kind == Ownership::owned && piece.value.owner.id == owner) owned.push_back(piece);
        return true;
    });
    for (auto const& it : owned) set(it.first, it.end, {Ownership::returned, it.value.owner});
    if (!owned.empty()) search_from_ = std::min(search_from_, owned.front().first);
    if (!owned.empty()) last_returned_ns_ = now_ns;
    if (pieces_.size() > kMaxPieces / 2) forget_returned();
}

// Forgets the last owners of returned ranges, because they take room that other ranges need.
void Leases::forget_returned() {
    std::vector<EventSpan> ranges;
    pieces_.visit(floor_, kNever, [&](auto const& piece) {
        if (piece.value.kind == Ownership::returned) ranges.push_back({piece.first, piece.end - piece.first});
        return true;
    });
    for (auto const& range : ranges) pieces_.erase(range.first, range.end());
}

void Leases::expire(std::uint64_t now_ns, bool is_full) {
    base::Lock const lock(mutex_);
    return_silent(now_ns);
    relieve_slow(now_ns, is_full);
    if (now_ns < next_step_ns_) return;
    next_step_ns_ = now_ns + lease_ns_ / 8;
    std::shift_right(asked_before_.begin(), asked_before_.end(), 1);
    asked_before_.front() = asked_before_[1];
}

void Leases::return_silent(std::uint64_t now_ns) {
    if (now_ns <= next_expiry_ns_) return;
    std::vector<OwnerId> silent;
    next_expiry_ns_ = kNever;
    for (auto const& [id, owner] : owners_) {
        auto const ends_ns = owner.seen_ns + lease_ns_;
        if (now_ns > ends_ns)
            silent.push_back(id);
        else
            next_expiry_ns_ = std::min(next_expiry_ns_, ends_ns);
    }
    for (auto const& id : silent) return_all(id, now_ns);
}

// Takes the oldest range from a slow owner, because it holds up all others: no later event can be forgotten.
void Leases::relieve_slow(std::uint64_t now_ns, bool is_full) {
    auto const oldest = pieces_.at(floor_);
    if (!oldest || oldest->value.kind != Ownership::owned) return;
    auto const owner = oldest->value.owner.id;
    auto const longest_ns =
        is_full && another_collector_lives(owner, now_ns) ? std::min(lease_ns_, longest_ns_) : longest_ns_;
    if (now_ns - std::min(now_ns, oldest->value.since_ns) <= longest_ns) return;
    return_all(owner, now_ns);
    std::erase_if(relieved_until_ns_, [&](auto const& it) { return it.second < now_ns; });
    if (relieved_until_ns_.size() < kMaxRelieved) relieved_until_ns_[owner] = now_ns + std::max(longest_ns, lease_ns_);
}

bool Leases::is_relieved(OwnerId const& owner, std::uint64_t now_ns) const {
    auto const it = relieved_until_ns_.find(owner);
    return it != relieved_until_ns_.end() && now_ns < it->second;
}

void Leases::note_heard(OwnerId const& owner, std::uint64_t now_ns) {
    if (heard_[1].owner == owner || (heard_[0].owner != owner && heard_[1].ns < heard_[0].ns))
        std::swap(heard_[0], heard_[1]);
    heard_[0] = {owner, now_ns, true};
}

bool Leases::another_collector_lives(OwnerId const& owner, std::uint64_t now_ns) const {
    return std::ranges::any_of(heard_, [&, lease_ns = lease_ns_](Heard const& it) {
        return it.owner != owner && is_recent(it, now_ns, lease_ns);
    });
}

bool Leases::any_collector_lives(std::uint64_t now_ns) const {
    return std::ranges::any_of(heard_,
                               [&, lease_ns = lease_ns_](Heard const& it) { return is_recent(it, now_ns, lease_ns); });
}

std::uint64_t Leases::owned_events() const {
    std::uint64_t sum = 0;
    pieces_.visit(0, kNever, [&](auto const& piece) {
        if (piece.value.kind == Ownership::owned) sum += piece.end - piece.first;
        return true;
    });
    return sum;
}

void Leases::raise_floor() {
    THALWEG_ASSERT_COSTLY(owned_events() == outstanding_, "outstanding events are owned events");
    while (!pieces_.empty()) {
        auto const piece = pieces_.front();
        if (piece.first > floor_ || piece.value.kind != Ownership::cleared) break;
        floor_ = piece.end;
        pieces_.pop_front();
    }
    THALWEG_ASSERT(pieces_.empty() || pieces_.front().first >= floor_, "no piece lies before the floor");
    search_from_ = std::max(search_from_, floor_);
    if (far_ahead_ <= floor_) far_ahead_ = kNever;
}

std::optional<Leases::Taking> Leases::take(RangeOwner const& owner, std::uint64_t count, std::uint64_t now_ns,
                                           Available const& available) {
    base::Lock const lock(mutex_);
    gives_ = true;
    if (is_relieved(owner.id, now_ns)) return std::nullopt;
    if (auto const it = owners_.find(owner.id); it != owners_.end()) it->second.seen_ns = now_ns;
    return_silent(now_ns);
    auto from = search_from_;
    while (count > 0 && pieces_.size() < kMaxPieces) {
        auto const piece = pieces_.at(from);
        if (piece && piece->value.kind != Ownership::returned) {
            search_from_ = from = piece->end;
            continue;
        }
        auto const run = available(from);
        if (run.count == 0) break;
        if (run.first > from) {
            for (auto const& gap : free_in(from, run.first)) set(gap.first, gap.end(), {Ownership::cleared, {}});
            search_from_ = from = run.first;
            raise_floor();
            continue;
        }
        auto const stop = piece ? piece->end : pieces_.next_begin(from, kNever);
        auto const end = std::min({run.end(), from + count, stop});
        if (piece && piece->value.owner.id != owner.id) ++expired_;
        own(owner, from, end, now_ns);
        search_from_ = end;
        return Taking{{from, end - from}, piece.has_value()};
    }
    return std::nullopt;
}

void Leases::note_asked(std::uint64_t before, std::uint64_t now_ns) {
    asked_before_.front() = std::max(asked_before_.front(), before);
    last_asked_ns_ = now_ns;
}

std::uint64_t Leases::left_behind_before(std::uint64_t now_ns, bool ended) const {
    if (ended && now_ns - std::min(now_ns, last_asked_ns_) > kQuietNs) return kNever;
    return asked_before_.back();
}

std::optional<Leases::Taking> Leases::take_left_behind(RangeOwner const& owner, std::uint64_t count,
                                                       std::uint64_t now_ns, bool ended, Available const& available) {
    base::Lock const lock(mutex_);
    return_silent(now_ns);
    if (is_relieved(owner.id, now_ns)) return std::nullopt;
    auto const limit = left_behind_before(now_ns, ended);
    bool const may_be_awaited = now_ns - std::min(now_ns, last_returned_ns_) < (ended ? kQuietNs : lease_ns_);
    for (auto from = floor_; from < limit && count > 0 && pieces_.size() < kMaxPieces;) {
        auto const piece = pieces_.at(from);
        if (piece && (piece->value.kind != Ownership::returned || may_be_awaited)) {
            from = piece->end;
            continue;
        }
        auto const run = available(from);
        if (run.count == 0 || run.first >= limit) break;
        if (run.first > from) {
            from = run.first;
            continue;
        }
        auto const stop = piece ? piece->end : pieces_.next_begin(from, limit);
        auto const end = std::min({run.end(), from + count, stop, limit});
        if (piece && piece->value.owner.id != owner.id) ++expired_;
        own(owner, from, end, now_ns);
        return Taking{{from, end - from}, piece.has_value()};
    }
    return std::nullopt;
}

bool Leases::has_free(Available const& available) const {
    base::Lock const lock(mutex_);
    for (auto from = search_from_;;) {
        if (auto const piece = pieces_.at(from); piece && piece->value.kind != Ownership::returned) {
            from = piece->end;
            continue;
        }
        auto const run = available(from);
        if (run.count == 0 || run.first == from) return run.count > 0;
        from = run.first;
    }
}

bool Leases::another_owner_has(OwnerId const& owner, EventSpan const& range) const {
    bool found = false;
    pieces_.visit(range.first, range.end(), [&](auto const& piece) {
        found = piece.value.kind == Ownership::owned && piece.value.owner.id != owner;
        return !found;
    });
    return found;
}

bool Leases::claim(RangeOwner const& owner, EventSpan const& range, std::uint64_t now_ns) {
    base::Lock const lock(mutex_);
    note_heard(owner.id, now_ns);
    if (auto const it = owners_.find(owner.id); it != owners_.end()) it->second.seen_ns = now_ns;
    return_silent(now_ns);
    note_asked(range.end(), now_ns);
    if (pieces_.size() >= kMaxPieces || is_relieved(owner.id, now_ns) || another_owner_has(owner.id, range))
        return false;
    for (auto const& gap : free_in(std::max(range.first, floor_), std::min(range.end(), end_))) {
        std::uint64_t of_others = 0;
        pieces_.visit(gap.first, gap.end(), [&](auto const& piece) { // all of them are returned
            of_others += piece.value.owner.id != owner.id;
            return true;
        });
        expired_ += of_others;
        own(owner, gap.first, gap.end(), now_ns);
    }
    return true;
}

void Leases::note_far_ahead(OwnerId const& owner, std::uint64_t first, std::uint64_t now_ns) {
    base::Lock const lock(mutex_);
    note_heard(owner, now_ns);
    note_asked(first, now_ns);
    if (first > floor_) far_ahead_ = std::min(far_ahead_, first);
}

void Leases::renew(OwnerId const& owner, std::uint64_t now_ns) {
    base::Lock const lock(mutex_);
    note_heard(owner, now_ns);
    if (auto const it = owners_.find(owner); it != owners_.end()) it->second.seen_ns = now_ns;
}

void Leases::give_back(OwnerId const& owner, std::uint64_t now_ns) {
    base::Lock const lock(mutex_);
    return_all(owner, now_ns);
}

void Leases::end_at(std::uint64_t end) {
    base::Lock const lock(mutex_);
    end_ = end;
    std::vector<EventSpan> owned;
    pieces_.visit(end, kNever, [&](auto const& piece) {
        if (piece.value.kind == Ownership::owned) owned.push_back({piece.first, piece.end - piece.first});
        return true;
    });
    for (auto const& range : owned) {
        set(range.first, range.end(), {Ownership::returned, {}});
        pieces_.erase(range.first, range.end());
    }
}

std::uint64_t Leases::cleared_before() const {
    base::Lock const lock(mutex_);
    return floor_;
}

bool Leases::is_cleared(std::uint64_t event) const { return standing(event, event + 1).kind == Standing::cleared; }

Leases::Standing Leases::standing(std::uint64_t event, std::uint64_t limit) const {
    base::Lock const lock(mutex_);
    if (event < begin_) return {Standing::kept, std::min(begin_, limit)};
    if (event < floor_) {
        limit = std::min(limit, floor_);
        if (auto const piece = forgotten_.at(event)) return {Standing::lost, std::min(piece->end, limit)};
        return {Standing::cleared, forgotten_.next_begin(event, limit)};
    }
    Standing result{Standing::kept, limit};
    pieces_.visit(event, limit, [&](auto const& piece) {
        if (piece.value.kind != Ownership::cleared) return true;
        bool const here = piece.first == event;
        result = {here ? Standing::cleared : Standing::kept, here ? piece.end : piece.first};
        return false;
    });
    return result;
}

std::uint64_t Leases::outstanding() const {
    base::Lock const lock(mutex_);
    return outstanding_;
}

std::uint64_t Leases::outstanding(OwnerId const& except) const {
    base::Lock const lock(mutex_);
    auto const it = owners_.find(except);
    return outstanding_ - (it == owners_.end() ? 0 : it->second.events);
}

std::uint64_t Leases::expired() const {
    base::Lock const lock(mutex_);
    return expired_;
}

} // namespace thalweg::readout
