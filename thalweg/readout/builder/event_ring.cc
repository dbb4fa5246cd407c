#include "thalweg/readout/builder/event_ring.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/huge_pages.h"
#include "thalweg/base/units.h"

namespace thalweg::readout {
namespace {

constexpr std::size_t kStretches = 256; // how many are remembered; older ones hold nothing that is kept

// Touches all memory now. Otherwise page faults would happen while events are built, and small pages would cause
// translation misses.
void make_present(base::AlignedBuffer& memory) {
    if (::madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE) == 0) return;
    for (std::size_t offset = 0; offset < memory.size(); offset += base::kBlockBytes)
        memory.data()[offset] = std::byte{};
}

} // namespace

EventRing::EventRing(std::uint64_t slots, std::uint32_t fragment_bytes)
    : mask_(slots - 1), fragment_bytes_(fragment_bytes),
      stride_bytes_(base::round_up(fragment_bytes + kOverhangBytes, 64)), has_fragment_((slots + 63) / 64) {
    THALWEG_ASSERT(std::has_single_bit(slots), "the number of slots is a power of two");
    memory_ = base::AlignedBuffer(base::round_up(slots * stride_bytes_, base::kHugePageBytes), base::PageSize::huge);
    make_present(memory_);
}

void EventRing::begin_stretch(std::uint64_t first_event, std::uint64_t first_position) {
    base::Lock const lock(stretches_mutex_);
    if (stretches_.empty()) {
        kept_from_.store(first_position);
    } else {
        auto& last = stretches_.back();
        last.events = std::min(last.events, first_position - last.first_position);
        // The numbers start again: readers can no longer ask for those of the last stretch.
        if (auto const events = first_event - last.first_event; events < last.events) {
            auto const from = std::max(kept_from_.load(), last.first_position + events);
            books_.skipped += fragments_between(from, last.first_position + last.events);
            last.events = events;
        }
    }
    // A stretch takes room of the ring, so few stretches hold something that must be kept.
    while (stretches_.size() >= kStretches && is_gone(stretches_.front())) stretches_.erase(stretches_.begin());
    THALWEG_ASSERT(stretches_.empty() || stretches_.back().first_position <= first_position,
                   "stretches ascend, and none lies in another one");
    stretches_.push_back({first_event, first_position, std::uint64_t{1} << 63});
}

bool EventRing::is_gone(Stretch const& stretch) const {
    return stretch.first_position + stretch.events <= kept_from_.load();
}

void EventRing::end_stretch(std::uint64_t position) {
    base::Lock const lock(stretches_mutex_);
    if (!stretches_.empty()) stretches_.back().events = position - stretches_.back().first_position;
}

void EventRing::publish(std::uint64_t watermark, std::uint64_t closed_event) {
    THALWEG_ASSERT(watermark >= watermark_.load(std::memory_order_relaxed), "what is closed stays closed");
    watermark_.store(watermark, std::memory_order_release);
    closed_event_.store(closed_event, std::memory_order_release);
}

std::uint64_t EventRing::usable_before() const {
    auto usable = kept_from_.load();
    for (auto const& pin : pins_) usable = std::min(usable, pin.position.load());
    return usable;
}

void EventRing::evict_before(std::uint64_t position) {
    base::Lock const lock(stretches_mutex_);
    auto const from = kept_from_.load();
    if (position <= from) return;
    std::uint64_t evicted = 0;
    visit_events(from, position, [&](std::uint64_t, std::uint64_t first, std::uint64_t count) {
        evicted += fragments_between(first, first + count);
    });
    books_.evicted += evicted;
    THALWEG_ASSERT(position <= watermark(), "only what is closed is given up");
    kept_from_.store(position);
}

// Positions that a jump of the event number skipped hold no event.
template <typename Visit> void EventRing::visit_events(std::uint64_t begin, std::uint64_t end, Visit&& visit) const {
    for (auto const& stretch : stretches_) {
        auto const first = std::max(begin, stretch.first_position);
        auto const last = std::min(end, stretch.first_position + stretch.events);
        if (first < last) visit(stretch.first_event + (first - stretch.first_position), first, last - first);
    }
}

std::uint64_t EventRing::fragments_between(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t fragments = 0;
    for (auto at = begin; at < end;) {
        auto const bits = std::min<std::uint64_t>(64 - at % 64, end - at);
        auto const word = has_fragment_[(at & mask_) / 64].load(std::memory_order_relaxed) >> at % 64;
        fragments += static_cast<unsigned>(std::popcount(bits == 64 ? word : word & ((std::uint64_t{1} << bits) - 1)));
        at += bits;
    }
    return fragments;
}

void EventRing::account(Books& books, std::uint64_t first_event, std::uint64_t first_position, std::uint64_t count,
                        std::uint64_t released_before, std::span<Forgotten const> forgotten) const {
    auto const end_event = first_event + count;
    auto const fragments_of = [&](std::uint64_t first, std::uint64_t end) {
        auto const position = first_position + (first - first_event);
        return first < end ? fragments_between(position, position + (end - first)) : 0;
    };
    auto const on_time = std::clamp(released_before, first_event, end_event);
    books.skipped += fragments_of(first_event, on_time);
    auto cleared = fragments_of(on_time, end_event);
    for (auto const& it : forgotten) {
        auto const fragments = fragments_of(std::max(it.first_event, on_time), std::min(it.end_event, end_event));
        (it.why == Forgotten::evicted ? books.evicted : books.skipped) += fragments;
        cleared -= fragments;
    }
    books.cleared += cleared;
}

EventRing::Books EventRing::books(std::span<EventSpan const> cleared_ahead) const {
    base::Lock const lock(stretches_mutex_);
    auto books = books_;
    visit_events(kept_from_.load(), watermark(), [&](auto first_event, auto first_position, auto count) {
        books.kept += fragments_between(first_position, first_position + count);
        for (auto const& it : cleared_ahead) {
            auto const first = std::max(it.first, first_event), end = std::min(it.end(), first_event + count);
            if (first >= end) continue;
            auto const position = first_position + (first - first_event);
            auto const fragments = fragments_between(position, position + (end - first));
            books.kept -= fragments;
            books.cleared += fragments;
        }
    });
    return books;
}

Stretch const* EventRing::stretch_before(std::uint64_t event) const {
    auto const after = std::upper_bound(stretches_.begin(), stretches_.end(), event,
                                        [](std::uint64_t value, Stretch const& it) { return value < it.first_event; });
    return after == stretches_.begin() ? nullptr : &*std::prev(after);
}

void EventRing::release(std::uint64_t event, std::span<Forgotten const> forgotten) {
    base::Lock const lock(stretches_mutex_);
    auto const released_before = std::exchange(released_before_, std::max(released_before_, event));
    auto const* const stretch = stretch_before(event);
    if (stretch == nullptr) return;
    auto const position = stretch->first_position + std::min(event - stretch->first_event, stretch->events);
    auto const kept = std::min(position, watermark());
    auto const from = kept_from_.load();
    if (kept <= from) return;
    auto books = books_;
    visit_events(from, kept, [&](std::uint64_t first_event, std::uint64_t first_position, std::uint64_t count) {
        account(books, first_event, first_position, count, released_before, forgotten);
    });
    books_ = books;
    kept_from_.store(kept);
}

EventRing::EventPlace EventRing::place_of(std::uint64_t event) const {
    base::Lock const lock(stretches_mutex_);
    auto const* const stretch = stretch_before(event);
    if (stretch == nullptr) return {};
    auto const index = event - stretch->first_event;
    if (index >= stretch->events) return {};
    return {true, stretch->first_position + index, stretch->events - index};
}

std::uint64_t EventRing::next_known(std::uint64_t event) const {
    base::Lock const lock(stretches_mutex_);
    for (auto const& stretch : stretches_) {
        if (event < stretch.first_event) return stretch.first_event;
        if (event - stretch.first_event < stretch.events) return event;
    }
    return 0;
}

std::vector<Stretch> EventRing::stretches() const {
    base::Lock const lock(stretches_mutex_);
    return stretches_;
}

EventRing::Pin::Pin(EventRing& ring, std::size_t thread, std::uint64_t first_position)
    : pin_(ring.pins_[thread].position) {
    THALWEG_ASSERT(pin_.load(std::memory_order_relaxed) == ~std::uint64_t{0}, "a thread holds one pin on a ring");
    pin_.store(first_position); // sequentially consistent, as kept_from_ is: one of both sides sees the other
}

EventRing::Pin::~Pin() { pin_.store(~std::uint64_t{0}, std::memory_order_release); }

} // namespace thalweg::readout
