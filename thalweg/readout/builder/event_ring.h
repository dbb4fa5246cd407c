// The fragments of one group, indexed by event: a ring of slots in which they are built and from which they are sent.
// One thread builds. Other threads read what is closed; what they read stays as long as they hold a Pin.
//
// Event numbers jump (an ECR step, a restarted card), slots do not. A *stretch* is a range of events without jumps;
// within it, position = event - first_event + first_position.
//
//   positions   ... kept_from ......... watermark .......... newest ....... kept_from + slots
//                   |  closed fragments  |  under construction |   free   |
//
// A slot is in one of three states. These functions move the borders between them, and so the slots:
//
//   free                 the builder begins a fragment in it (OpenStretches)     -> under construction
//   under construction   publish(): the watermark passes it                      -> closed
//   closed               release(), evict_before(): kept_from passes it          -> free, once no Pin holds it
//
// Invariants:
//   1. kept_from <= watermark, and both only rise (publish, evict_before, release).
//   2. A fragment before the watermark is never altered while it is kept: the builder writes only from the watermark
//   on,
//      and before usable_before() + slots() (Group::take_packets, RingRoom).
//   3. A slot is not used again while a Pin holds it: usable_before() is the least of kept_from and all pins. Both
//   sides
//      store first and load then, sequentially consistent, so one of them sees the other.
//   4. Stretches are disjoint in positions and ascend; each event lies in at most one that is kept (begin_stretch).
//   5. Every closed fragment is in one account: cleared, evicted, skipped or kept (Books; invariant R4 of
//      ARCHITECTURE.md).
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

// Consecutive events.
struct EventSpan {
    std::uint64_t first = 0;
    std::uint64_t count = 0;

    std::uint64_t end() const { return first + count; }
    bool operator==(EventSpan const&) const = default;
};

// Events that are no longer kept although no collector has cleared them.
struct Forgotten {
    enum Why : std::uint8_t { evicted, skipped };
    std::uint64_t first_event = 0;
    std::uint64_t end_event = 0;
    Why why = evicted;
};

struct Stretch {
    std::uint64_t first_event = 0;
    std::uint64_t first_position = 0;
    std::uint64_t events = 0; // how many it holds before the next stretch begins; the newest stretch: no limit (2^63)
};

class EventRing {
  public:
    // `slots` is a power of two. Allocates everything; throws base::SystemError if there is no memory.
    EventRing(std::uint64_t slots, std::uint32_t fragment_bytes);

    // --- for the thread that builds
    // The slots as values that no store can change, for inner loops.
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
    // Notes whether the event that is closed at this position has a fragment. Only these are counted.
    void note_closed(std::uint64_t position, bool has_fragment) {
        auto& word = has_fragment_[(position & mask_) / 64];
        auto const bits = word.load(std::memory_order_relaxed), bit = std::uint64_t{1} << position % 64;
        if (((bits & bit) != 0) != has_fragment) word.store(bits ^ bit, std::memory_order_relaxed);
    }
    // Begins the next stretch. The one before it ends where this one begins, if not earlier.
    void begin_stretch(std::uint64_t first_event, std::uint64_t first_position);
    // Ends the newest stretch in front of this position.
    void end_stretch(std::uint64_t position);
    // Moves the watermark. `closed_event` is the event at the watermark, as readers see it.
    void publish(std::uint64_t watermark, std::uint64_t closed_event);
    // Returns the position up to which slots may be used, minus slots(): no reader and no collector needs what lies
    // before it.
    std::uint64_t usable_before() const;
    // Gives up everything before `position`, which is at most the watermark, to make room.
    void evict_before(std::uint64_t position);

    // --- for all others
    std::uint64_t slots() const { return mask_ + 1; }
    std::uint64_t stride_bytes() const { return stride_bytes_; }
    // Returns the oldest position that is kept.
    std::uint64_t kept_from() const { return kept_from_.load(); }
    // Returns the event at the watermark: every event before it is closed. 0: none yet; kNotAwaited: the group has no
    // live stream, and readers need not wait for it.
    static constexpr std::uint64_t kNotAwaited = ~0ull;
    std::uint64_t closed_event() const { return closed_event_.load(std::memory_order_acquire); }
    std::uint64_t watermark() const { return watermark_.load(std::memory_order_acquire); }
    // The place of an event. Events that lie in no stretch were never seen.
    struct EventPlace {
        bool known = false;
        std::uint64_t position = 0;
        std::uint64_t run = 0; // how many positions from this one on belong to the same stretch
    };
    EventPlace place_of(std::uint64_t event) const;
    std::vector<Stretch> stretches() const;
    // Returns `event`, or the next event after it, that lies in a stretch; 0 if there is none.
    std::uint64_t next_known(std::uint64_t event) const;
    // Returns the fragment of a closed `event` at its position, or an empty span if no packet of it arrived. Call it
    // only under a Pin that began before, and only for positions from kept_from() on.
    std::span<std::byte const> fragment(std::uint64_t event, std::uint64_t position) const {
        auto const* header = slot(position);
        if (header->event != event) return {};
        return {reinterpret_cast<std::byte const*>(header), header->length_bytes};
    }
    // Frees the slots of all events before `event`. These events were cleared, except those in `forgotten`, and except
    // those that are closed only after this call: these are skipped.
    void release(std::uint64_t event, std::span<Forgotten const> forgotten = {});
    // The accounts of all closed fragments: each one is counted in one member. `cleared_ahead` are ranges that are
    // cleared and still kept.
    struct Books {
        std::uint64_t cleared = 0, evicted = 0, skipped = 0, kept = 0;
    };
    Books books(std::span<EventSpan const> cleared_ahead = {}) const;

    // While a Pin lives, no slot from max(first_position, kept_from()) on is used again. `thread` is a number below
    // kMaxPins, used by one thread.
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
        std::atomic<std::uint64_t> position = ~0ull; // ~0: no pin
    };

    // Returns the last stretch that begins at or before `event`, or nullptr if all begin later.
    Stretch const* stretch_before(std::uint64_t event) const THALWEG_REQUIRES(stretches_mutex_);
    bool is_gone(Stretch const& stretch) const;
    // Calls `visit(first_event, first_position, count)` for all events at positions [begin, end).
    template <typename Visit>
    void visit_events(std::uint64_t begin, std::uint64_t end, Visit&& visit) const THALWEG_REQUIRES(stretches_mutex_);
    std::uint64_t fragments_between(std::uint64_t begin, std::uint64_t end) const; // between positions
    void account(Books& books, std::uint64_t first_event, std::uint64_t first_position, std::uint64_t count,
                 std::uint64_t released_before, std::span<Forgotten const> forgotten) const;

    base::AlignedBuffer memory_;
    std::uint64_t mask_;
    std::uint32_t fragment_bytes_;
    std::uint64_t stride_bytes_; // a fragment, and room for vectors that write beyond its end
    // A bit for each slot; the bit of a closed event does not change.
    std::vector<std::atomic<std::uint64_t>> has_fragment_;
    mutable base::Mutex stretches_mutex_;
    std::vector<Stretch> stretches_ THALWEG_GUARDED_BY(stretches_mutex_); // the last few, ascending
    // An event: what lies before it and is closed from now on comes too late.
    std::uint64_t released_before_ THALWEG_GUARDED_BY(stretches_mutex_) = 0;
    Books books_ THALWEG_GUARDED_BY(stretches_mutex_); // counts what is no longer kept
    alignas(64) std::atomic<std::uint64_t> watermark_ = 0;
    std::atomic<std::uint64_t> closed_event_ = 0;
    alignas(64) std::atomic<std::uint64_t> kept_from_ = 0;
    std::array<PinnedFrom, kMaxPins> pins_;
};

} // namespace thalweg::readout
