// The fragments of one group, indexed by event: a ring of slots in which they are built, from which they are sent.
// One thread builds. Others read what is closed; what they read stays as long as they hold a Pin.
//
// Event numbers jump (an ECR step, a card that began anew), slots do not: a *stretch* is a range of events without
// jumps, and within it position = event - first_event + first_position.
//
//   positions   ... kept_from .......... closed ........... newest ....... kept_from + slots
//                   |  closed fragments  |  under construction |   free   |
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/base/memory.h"
#include "thalweg/base/thread.h"
#include "thalweg/readout/config.h"
#include "thalweg/readout/fragment.h"

namespace thalweg::readout {

// Events that are kept no more, though nobody has cleared them.
struct Forgotten {
    enum Why : std::uint8_t { evicted, skipped };
    std::uint64_t first_event = 0;
    std::uint64_t end_event = 0;
    Why why = evicted;
};

struct Stretch {
    std::uint64_t first_event = 0;
    std::uint64_t first_position = 0;
    std::uint64_t events = 0; // that it may hold before the next one begins; of the newest: no limit (2^63)
};

class EventRing {
  public:
    // `slots` a power of two. Allocates everything; throws base::SystemError where there is no room.
    EventRing(std::uint64_t slots, std::uint32_t fragment_bytes);

    // --- for the thread that builds
    // For inner loops: the slots, as values that no store can change.
    struct Slots {
        std::byte* first;
        std::uint64_t mask;
        std::uint64_t stride_bytes;

        FragmentHeader* at(std::uint64_t position) const {
            return reinterpret_cast<FragmentHeader*>(first + (position & mask) * stride_bytes);
        }
    };
    Slots view() const { return {memory_.data(), mask_, stride_bytes_}; }
    FragmentHeader* slot(std::uint64_t position) const { return view().at(position); }
    std::uint32_t capacity_bytes() const { return fragment_bytes_; }
    // Whether the event that is closed at this position has a fragment: only those are counted.
    void note_closed(std::uint64_t position, bool has_fragment) {
        auto& word = has_fragment_[(position & mask_) / 64];
        auto const bits = word.load(std::memory_order_relaxed), bit = std::uint64_t{1} << position % 64;
        if (((bits & bit) != 0) != has_fragment) word.store(bits ^ bit, std::memory_order_relaxed);
    }
    // The next stretch. The one before it has ended where it begins, if not earlier.
    void begin_stretch(std::uint64_t first_event, std::uint64_t first_position);
    // The newest stretch ends in front of this position.
    void end_stretch(std::uint64_t position);
    // Everything before this position is finished. `closed_event` is what readers see of it.
    void publish(std::uint64_t closed_position, std::uint64_t closed_event);
    // Slots before this position, plus slots(), may be used: nobody needs them and nobody reads them.
    std::uint64_t usable_before() const;
    // Gives up everything before `position`, which is closed, to make room.
    void evict_before(std::uint64_t position);

    // --- for all others
    std::uint64_t slots() const { return mask_ + 1; }
    std::uint64_t stride_bytes() const { return stride_bytes_; }
    // The oldest position that is kept.
    std::uint64_t kept_from() const { return kept_from_.load(); }
    // Every event before this one is closed. 0: none yet; kNobody: the group has no live stream, and holds up nobody.
    static constexpr std::uint64_t kNobody = ~0ull;
    std::uint64_t closed_event() const { return closed_event_.load(std::memory_order_acquire); }
    std::uint64_t closed_position() const { return closed_position_.load(std::memory_order_acquire); }
    // Where an event lies, if it lies anywhere: events in no stretch were never seen.
    struct Place {
        bool known = false;
        std::uint64_t position = 0;
        std::uint64_t run = 0; // positions that follow it in the same stretch, itself included
    };
    Place place_of(std::uint64_t event) const;
    std::vector<Stretch> stretches() const;
    // The first event after `event` - or it itself - that lies in a stretch; 0: none.
    std::uint64_t next_known(std::uint64_t event) const;
    // The fragment of `event`, which is closed, at its position; empty: no packet of it came. Only under a Pin that
    // began before, and only at positions from kept_from() on.
    std::span<std::byte const> fragment(std::uint64_t event, std::uint64_t position) const {
        auto const* header = slot(position);
        if (header->event != event) return {};
        return {reinterpret_cast<std::byte const*>(header), header->length_bytes};
    }
    // Events before `event` are needed no more: their slots are free. They were cleared, but for `forgotten`, and for
    // what is closed only after they were released: that is skipped.
    void release(std::uint64_t event, std::span<Forgotten const> forgotten = {});
    // Where the fragments are that were closed: every one is in one of these. `cleared_ahead`: of what is still kept.
    struct Books {
        std::uint64_t cleared = 0, evicted = 0, skipped = 0, kept = 0;
    };
    struct Events {
        std::uint64_t first = 0;
        std::uint64_t end = 0;
    };
    Books books(std::span<Events const> cleared_ahead = {}) const;

    // While it lives no slot from max(first_position, kept_from()) on is used anew. `thread`: a number below kMaxPins,
    // of one thread.
    class Pin {
      public:
        Pin(EventRing& ring, std::size_t thread, std::uint64_t first_position);
        Pin(Pin const&) = delete;
        Pin& operator=(Pin const&) = delete;
        ~Pin();

      private:
        std::atomic<std::uint64_t>& pin_;
    };

  private:
    struct alignas(64) PinnedFrom {
        std::atomic<std::uint64_t> position = ~0ull; // ~0: nothing
    };

    // The last one that begins at or before `event`; none: all begin later.
    Stretch const* stretch_before(std::uint64_t event) const THALWEG_REQUIRES(stretches_mutex_);
    bool is_gone(Stretch const& stretch) const;
    // Calls `visit(first_event, first_position, count)` for all events at positions [begin, end).
    template <typename Visit>
    void visit_events(std::uint64_t begin, std::uint64_t end, Visit&& visit) const THALWEG_REQUIRES(stretches_mutex_);
    std::uint64_t fragments_between(std::uint64_t begin, std::uint64_t end) const; // positions
    void account(Books& books, std::uint64_t first_event, std::uint64_t first_position, std::uint64_t count,
                 std::uint64_t released_before, std::span<Forgotten const> forgotten) const;

    base::AlignedBuffer memory_;
    std::uint64_t mask_;
    std::uint32_t fragment_bytes_;
    std::uint64_t stride_bytes_;                           // a fragment, and room for vectors that write beyond its end
    std::vector<std::atomic<std::uint64_t>> has_fragment_; // a bit for each slot; what is closed does not change
    mutable base::Mutex stretches_mutex_;
    std::vector<Stretch> stretches_ THALWEG_GUARDED_BY(stretches_mutex_); // the last few, ascending
    // Event; what of those before it is closed from now on comes too late.
    std::uint64_t released_before_ THALWEG_GUARDED_BY(stretches_mutex_) = 0;
    Books books_ THALWEG_GUARDED_BY(stretches_mutex_); // of what is not kept
    alignas(64) std::atomic<std::uint64_t> closed_position_ = 0;
    std::atomic<std::uint64_t> closed_event_ = 0;
    alignas(64) std::atomic<std::uint64_t> kept_from_ = 0;
    std::array<PinnedFrom, kMaxPins> pins_;
};

} // namespace thalweg::readout
