#include "thalweg/readout/server/index.h"

#include <algorithm>
#include <utility>

#include "thalweg/base/assert.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kStillNs = 100'000'000; // a ring that closes nothing for so long stands still
constexpr std::uint64_t kNotAwaited = EventRing::kNotAwaited;
constexpr std::uint64_t kFarthest = 1ull << 31; // how far one handler may lag behind another: half the range of an L1ID

// Returns the event at a position; 0 if the ring has not begun.
std::uint64_t event_at(EventRing const& ring, std::uint64_t position) {
    std::uint64_t event = 0;
    for (auto const& stretch : ring.stretches()) {
        if (event != 0 && stretch.first_position > position) break;
        auto const behind = position - std::min(position, stretch.first_position);
        event = stretch.first_event + std::min(behind, stretch.events);
    }
    return event;
}

} // namespace

Index::Index(std::vector<EventRing*> rings, std::uint64_t lease_ns)
    : rings_(std::move(rings)), leases_(lease_ns), scratch_(kMaxPins) {
    for (auto& scratch : scratch_) {
        scratch.cursors.resize(rings_.size());
        scratch.pins = std::vector<std::optional<EventRing::Pin>>(rings_.size());
    }
}

std::uint64_t Index::closed_event() const {
    auto closed = kNotAwaited;
    for (auto const* ring : rings_) closed = std::min(closed, ring->closed_event());
    if (closed != kNotAwaited && !ended_) return closed;
    closed = 0; // no group is live or will get more: the highest watermark counts
    for (auto const* ring : rings_) closed = std::max(closed, event_at(*ring, ring->watermark()));
    return closed;
}

void Index::end_run() {
    ended_ = true;
    leases_.end_at(closed_event());
}

std::uint64_t Index::first_event() const {
    std::uint64_t moved = 0, begun = kNotAwaited;
    bool may_begin = false; // some group has not begun, and its first event is unknown
    for (auto const* ring : rings_) {
        auto const event = event_at(*ring, ring->kept_from());
        // A ring that has given up nothing may have begun later than the others, so its first event does not count.
        if (event > ring->next_known(0)) moved = std::max(moved, event);
        if (event > 0) begun = std::min(begun, event);
        if (event == 0 && ring->closed_event() != kNotAwaited) may_begin = true;
    }
    if (moved > 0) return moved;
    return begun == kNotAwaited || may_begin ? 0 : begun;
}

EventSpan Index::available(std::uint64_t from, std::uint64_t min_count) const {
    auto const closed = closed_event();
    auto first = kNotAwaited;
    for (auto const* ring : rings_)
        if (auto const next = ring->next_known(from); next >= from && next != 0) first = std::min(first, next);
    if (first >= closed) return {};
    std::uint64_t run = 0;
    for (auto const* ring : rings_) run = std::max(run, ring->place_of(first).run);
    auto const rest_of_ecr = kEventsOfEcr - first % kEventsOfEcr;
    auto const count = std::min({run, rest_of_ecr, closed - first});
    bool const may_grow = first + count == closed && count < std::min(run, rest_of_ecr);
    if (count < min_count && may_grow) return {};
    THALWEG_ASSERT(count > 0 && first + count <= closed, "only closed events are given away");
    return {first, count};
}

std::optional<Leases::Taking> Index::take(RangeOwner const& owner, std::uint64_t count, std::uint64_t min_count,
                                          std::uint64_t now_ns) {
    leases_.forget_before(first_event());
    return leases_.take(owner, count, now_ns, [&](std::uint64_t from) { return available(from, min_count); });
}

std::optional<Leases::Taking> Index::take_left_behind(RangeOwner const& owner, std::uint64_t count,
                                                      std::uint64_t now_ns) {
    leases_.forget_before(first_event());
    return leases_.take_left_behind(owner, count, now_ns, ended_, [&](auto from) { return available(from, 1); });
}

bool Index::claim(std::uint64_t first, std::uint64_t count, RangeOwner const& owner, std::uint64_t now_ns,
                  std::uint64_t reach) {
    auto const closed = closed_event();
    if (closed == 0 || first <= closed || first - closed <= reach) return leases_.claim(owner, {first, count}, now_ns);
    if (first - closed <= kFarthest) leases_.note_far_ahead(owner.id, first, now_ns);
    return false;
}

bool Index::clear(std::uint64_t first, std::uint64_t count, RangeOwner const& owner, std::uint64_t now_ns) {
    Clearing const clearing{{first, count}, owner.seal};
    return clear(owner.id, {&clearing, 1}, now_ns).front();
}

std::vector<bool> Index::clear(OwnerId const& owner, std::span<Clearing const> clearings, std::uint64_t now_ns) {
    leases_.forget_before(first_event());
    auto const before = leases_.cleared_before();
    std::vector<bool> done;
    for (auto const& it : clearings) done.push_back(leases_.clear({owner, it.seal}, it.range, now_ns));
    if (leases_.cleared_before() != before) free_cleared();
    return done;
}

bool Index::has_more() {
    leases_.forget_before(first_event());
    return leases_.has_free([&](std::uint64_t from) { return available(from, 1); });
}

void Index::free_cleared() {
    auto const before = leases_.cleared_before();
    auto const forgotten = leases_.forgotten(); // read afterwards, so that it covers everything before `before`
    for (auto* ring : rings_) ring->release(before, forgotten);
}

// Returns whether a ring is half full of closed events and nothing more closes. Only the builder knows how many free
// slots it needs.
bool Index::is_full(std::uint64_t now_ns) {
    auto const closed = closed_event();
    if (closed != std::exchange(last_closed_, closed)) last_closed_ns_ = now_ns;
    if (now_ns - last_closed_ns_ <= kStillNs) return false;
    return std::ranges::any_of(
        rings_, [](auto const* ring) { return ring->watermark() - ring->kept_from() >= ring->slots() / 2; });
}

std::uint64_t Index::tick(std::uint64_t now_ns) {
    THALWEG_ASSERT(now_ns >= last_closed_ns_, "the clock of a server only advances");
    if (auto const first = first_event(); first != 0) leases_.forget_before(first);
    bool const full = is_full(now_ns);
    leases_.expire(now_ns, full);
    auto const skipped = leases_.skip_unclaimed(now_ns, full);
    free_cleared();
    return skipped;
}

std::vector<EventRing::Books> Index::books() const {
    auto const cleared = leases_.cleared_ahead();
    std::vector<EventRing::Books> books;
    for (auto const* ring : rings_) books.push_back(ring->books(cleared));
    return books;
}

} // namespace thalweg::readout
