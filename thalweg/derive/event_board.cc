#include "thalweg/derive/event_board.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sys/mman.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::derive {
namespace {

constexpr std::uint64_t kLineBytes = 64; // of the cache: each array begins one

template <class T> std::span<T> place(std::byte*& at, std::uint64_t count) {
    auto* const first = reinterpret_cast<T*>(at);
    std::uninitialized_value_construct_n(first, count);
    at += base::round_up(count * sizeof(T), kLineBytes);
    return {first, count};
}

// The memory stays as it comes from the kernel, which is zeros: what is not used takes no memory.
std::span<std::atomic<std::uint64_t>> place_of_zeros(std::byte* at, std::uint64_t count) {
    return {reinterpret_cast<std::atomic<std::uint64_t>*>(at), count};
}

} // namespace

EventBoard::EventBoard(std::uint64_t waiting, std::uint64_t ranges, unsigned attempts, unsigned slots)
    : waiting_(waiting), attempts_(attempts) {
    // A range is given again when it has failed, or when others of its worker have: each time one more has failed.
    auto const most_again = (ranges * attempts + 1) * slots;
    auto const size_bytes = sizeof(Head) + slots * sizeof(Slot) + ranges * sizeof(std::uint32_t) +
                            most_again * sizeof(std::uint64_t) + 5 * kLineBytes;
    auto* const memory =
        ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) base::fail_system({"cannot have memory that the workers of a job share"}, errno);
    memory_ = {static_cast<std::byte*>(memory), size_bytes};
    auto* at = memory_.data();
    head_ = place<Head>(at, 1).data();
    slots_ = place<Slot>(at, slots);
    failed_ = place<std::atomic<std::uint32_t>>(at, ranges);
    again_ = place_of_zeros(at, most_again);
}

EventBoard::~EventBoard() { ::munmap(memory_.data(), memory_.size()); }

std::optional<std::uint64_t> EventBoard::take() {
    if (is_stopped()) return std::nullopt;
    auto const place = head_->next.fetch_add(1);
    if (place >= waiting_) return std::nullopt;
    return place;
}

std::optional<std::uint64_t> EventBoard::take_again() {
    auto begin = head_->again_begin.load();
    while (!is_stopped() && begin < head_->again_end.load()) {
        if (head_->again_begin.compare_exchange_weak(begin, begin + 1)) return again_[begin].load();
    }
    return std::nullopt;
}

// Only the process that sees workers die calls this.
void EventBoard::give_again(std::uint64_t place) {
    auto const end = head_->again_end.load();
    if (end == again_.size()) return stop("workers die again and again");
    again_[end] = place;
    head_->again_end = end + 1;
}

bool EventBoard::has_more() const {
    return !is_stopped() && (head_->next.load() < waiting_ || head_->again_begin.load() < head_->again_end.load());
}

void EventBoard::begin(unsigned slot, std::uint64_t place) {
    THALWEG_ASSERT(slots_[slot].place_and_one == 0, "a thread does one range at a time");
    THALWEG_ASSERT(place < waiting_, "a range that is done was given out");
    slots_[slot].since_ns = base::monotonic_ns();
    slots_[slot].place_and_one = place + 1;
}

void EventBoard::end(unsigned slot, std::uint64_t events) {
    THALWEG_ASSERT(slots_[slot].place_and_one != 0, "a range that ends was begun");
    slots_[slot].place_and_one = 0;
    head_->events_done += events;
    auto const done_before = head_->ranges_done.fetch_add(1);
    THALWEG_ASSERT(done_before < waiting_, "a range is done once");
}

void EventBoard::clear(unsigned slot) { slots_[slot].place_and_one = 0; }

std::optional<EventBoard::Doing> EventBoard::doing(unsigned slot) const {
    auto const place = slots_[slot].place_and_one.load();
    if (place == 0) return std::nullopt;
    return Doing{place - 1, slots_[slot].since_ns.load()};
}

bool EventBoard::may_try_again(std::uint64_t range) {
    ++head_->failures;
    return ++failed_[range] < attempts_;
}

void EventBoard::stop(std::string const& why) {
    std::uint32_t expected = going_on;
    if (!head_->stopped.compare_exchange_strong(expected, being_told)) return;
    auto const bytes = std::min(why.size(), kReasonBytes - 1);
    std::memcpy(head_->why, why.data(), bytes);
    head_->stopped = told;
}

// Returns "" while it is being told, or if the process that told it was killed meanwhile.
std::string EventBoard::why() const { return head_->stopped.load() == told ? head_->why : ""; }

} // namespace thalweg::derive
