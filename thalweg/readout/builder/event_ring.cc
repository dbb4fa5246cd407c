#include "thalweg/readout/builder/event_ring.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

#include "thalweg/base/units.h"

namespace thalweg::readout {
namespace {

constexpr std::size_t kStretches = 256; // remembered; older ones hold nothing that is kept
constexpr std::uint64_t kHugePageBytes = 2 << 20;

// Page faults would otherwise come while events are built, and translation misses all the time.
void make_present(base::AlignedBuffer& memory) {
    ::madvise(memory.data(), memory.size(), MADV_HUGEPAGE);
    if (::madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE) == 0) return;
    for (std::size_t offset = 0; offset < memory.size(); offset += base::kBlockBytes)
        memory.data()[offset] = std::byte{};
}

} // namespace

EventRing::EventRing(std::uint64_t slots, std::uint32_t fragment_bytes)
    : mask_(slots - 1), fragment_bytes_(fragment_bytes),
      stride_bytes_(base::round_up(fragment_bytes + kOverhangBytes, 64)) {
    memory_ = base::AlignedBuffer(base::round_up(slots * stride_bytes_, kHugePageBytes));
    make_present(memory_);
}

void EventRing::begin_stretch(std::uint64_t first_event, std::uint64_t first_position) {
    std::lock_guard const lock(stretches_mutex_);
    if (stretches_.empty()) {
        kept_from_.store(first_position);
    } else {
        auto& last = stretches_.back();
        last.events = std::min({last.events, first_event - last.first_event, first_position - last.first_position});
    }
    // Each takes room of the ring, so those that must be kept are not many.
    while (stretches_.size() >= kStretches && is_gone(stretches_.front())) stretches_.erase(stretches_.begin());
    stretches_.push_back({first_event, first_position, std::uint64_t{1} << 63});
}

bool EventRing::is_gone(Stretch const& stretch) const {
    return stretch.first_position + stretch.events <= kept_from_.load();
}

void EventRing::end_stretch(std::uint64_t position) {
    std::lock_guard const lock(stretches_mutex_);
    if (!stretches_.empty()) stretches_.back().events = position - stretches_.back().first_position;
}

void EventRing::publish(std::uint64_t closed_position, std::uint64_t closed_event) {
    closed_position_.store(closed_position, std::memory_order_release);
    closed_event_.store(closed_event, std::memory_order_release);
}

std::uint64_t EventRing::usable_before() const {
    auto usable = kept_from_.load();
    for (auto const& pin : pins_) usable = std::min(usable, pin.position.load());
    return usable;
}

void EventRing::evict_before(std::uint64_t position) {
    std::lock_guard const lock(stretches_mutex_);
    auto const from = kept_from_.load();
    if (position <= from) return;
    evicted_.fetch_add(events_between(from, position), std::memory_order_relaxed);
    kept_from_.store(position);
}

// Positions that a jump of the event number skipped hold none.
std::uint64_t EventRing::events_between(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t events = 0;
    for (auto const& stretch : stretches_) {
        auto const first = std::max(begin, stretch.first_position);
        auto const last = std::min(end, stretch.first_position + stretch.events);
        if (first < last) events += last - first;
    }
    return events;
}

Stretch const* EventRing::stretch_before(std::uint64_t event) const {
    auto const after = std::upper_bound(stretches_.begin(), stretches_.end(), event,
                                        [](std::uint64_t value, Stretch const& it) { return value < it.first_event; });
    return after == stretches_.begin() ? nullptr : &*std::prev(after);
}

void EventRing::keep_from_event(std::uint64_t event) {
    std::lock_guard const lock(stretches_mutex_);
    auto const* const stretch = stretch_before(event);
    if (stretch == nullptr) return;
    auto const position = stretch->first_position + std::min(event - stretch->first_event, stretch->events);
    auto const kept = std::min(position, closed_position());
    if (kept > kept_from_.load()) kept_from_.store(kept);
}

EventRing::Place EventRing::place_of(std::uint64_t event) const {
    std::lock_guard const lock(stretches_mutex_);
    auto const* const stretch = stretch_before(event);
    if (stretch == nullptr) return {};
    auto const index = event - stretch->first_event;
    if (index >= stretch->events) return {};
    return {true, stretch->first_position + index, stretch->events - index};
}

std::uint64_t EventRing::next_known(std::uint64_t event) const {
    std::lock_guard const lock(stretches_mutex_);
    for (auto const& stretch : stretches_) {
        if (event < stretch.first_event) return stretch.first_event;
        if (event - stretch.first_event < stretch.events) return event;
    }
    return 0;
}

std::vector<Stretch> EventRing::stretches() const {
    std::lock_guard const lock(stretches_mutex_);
    return stretches_;
}

EventRing::Pin::Pin(EventRing& ring, std::size_t thread, std::uint64_t first_position)
    : pin_(ring.pins_[thread].position) {
    pin_.store(first_position); // sequentially consistent, as kept_from_ is: one of both sides sees the other
}

EventRing::Pin::~Pin() { pin_.store(~std::uint64_t{0}, std::memory_order_release); }

} // namespace thalweg::readout
