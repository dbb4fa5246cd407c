// The contents of a handler's rings as requests need it: by event, over all groups.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <sys/uio.h>
#include <vector>

#include "thalweg/readout/builder/event_ring.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/readout/server/byte_buffer.h"
#include "thalweg/readout/server/leases.h"

namespace thalweg::readout {

class Index {
  public:
    // The rings must live longer.
    explicit Index(std::vector<EventRing*> rings, std::uint64_t lease_ns = 10'000'000'000);

    // Returns an event before which every event is closed in every live group; 0: none yet.
    std::uint64_t closed_event() const;
    // The run has ended: an event that only some groups have seen is closed, too, and no client owns a later one.
    void end_run();
    // Returns the oldest event that is kept; 0: none yet.
    std::uint64_t first_event() const;

    // Appends the records and fragments of [first, first + count) to `out`. It stops when `max_bytes` are reached, but
    // after one event at least, or at an open event, unless `with_open` is set: then the event is reported as
    // `open_as`. Returns the first event that is not in `out`. `thread` is the number for the Pin.
    struct Limits {
        std::uint64_t count = 1;
        std::uint64_t max_bytes = ~0ull;
        bool with_open = false;
        EventState open_as = EventState::not_yet;
        bool is_behind_end = false; // what is said of open events: they lie behind the end of the run
    };
    // The events that were read, by state.
    struct Tally {
        std::array<std::uint64_t, 6> events = {};
        std::uint64_t fragments = 0;
    };
    std::uint64_t read(std::uint64_t first, Limits const& limits, std::size_t thread, ByteBuffer& out,
                       Tally* tally = nullptr);

    // Does the same into memory of a fixed size: it stops where that is full, also before the first event.
    struct Filled {
        std::uint64_t next = 0;
        std::size_t bytes = 0;
    };
    Filled read(std::uint64_t first, Limits const& limits, std::size_t thread, std::span<std::byte> out, Tally* tally);

    // Does the same without a copy: `out` holds pieces of `records` and of the rings, in order, which stay valid during
    // `use(next)`. What `records` held before comes first.
    struct Pieces {
        ByteBuffer records;
        std::vector<iovec> pieces;
        std::uint64_t bytes = 0;
    };
    void gather(std::uint64_t first, Limits const& limits, std::size_t thread, Pieces& out, Tally* tally,
                std::function<void(std::uint64_t next)> const& use);

    // Returns the owners of the ranges. Clearing frees slots once everything before is cleared, too.
    Leases& leases() { return leases_; }
    // Takes closed events of one ECR, without a jump. Returns nothing while fewer than `min_count` are there and more
    // may come.
    std::optional<Leases::Taking> take(RangeOwner const& owner, std::uint64_t count, std::uint64_t min_count,
                                       std::uint64_t now_ns);
    // Takes only what Leases::take_left_behind offers.
    std::optional<Leases::Taking> take_left_behind(RangeOwner const& owner, std::uint64_t count, std::uint64_t now_ns);
    // Makes the client that asks for these events their owner, unless they begin more than `reach` events behind the
    // closed ones.
    bool claim(std::uint64_t first, std::uint64_t count, RangeOwner const& owner, std::uint64_t now_ns,
               std::uint64_t reach = kEventsOfEcr);
    bool clear(std::uint64_t first, std::uint64_t count, RangeOwner const& owner, std::uint64_t now_ns);
    // Clears several ranges, and frees slots once. Returns for each range whether it is cleared.
    struct Clearing {
        EventSpan range;
        RangeSeal seal;
    };
    std::vector<bool> clear(OwnerId const& owner, std::span<Clearing const> clearings, std::uint64_t now_ns);
    // Returns whether there are events that no collector owns or has cleared.
    bool has_more();
    // Call it regularly, from one thread: leases learn what was evicted, and expire, and events that no collector wants
    // make room. Returns the number of events that were skipped.
    std::uint64_t tick(std::uint64_t now_ns);
    // Returns, for each ring, where its fragments went.
    std::vector<EventRing::Books> books() const;

  private:
    // The state of one ring during one request.
    struct RingCursor {
        EventRing* ring = nullptr;
        std::uint64_t position = 0;
        bool known = false;
        FragmentHeader const* header = nullptr; // the current event's
    };
    struct RingScratch { // for one thread
        std::vector<RingCursor> cursors;
        std::vector<std::optional<EventRing::Pin>> pins;
    };
    struct Pinned;
    struct Segment; // consecutive events that are treated alike

    template <typename Sink>
    std::uint64_t walk(std::uint64_t first, Limits const& limits, RingScratch& scratch, Tally& tally, Sink&& sink);
    template <typename Sink>
    std::uint64_t walk_readable(Segment const& segment, std::uint64_t max_bytes, RingScratch& scratch, Tally& tally,
                                Sink&& sink);
    Segment segment_at(std::uint64_t event, std::uint64_t end, std::vector<RingCursor>& cursors) const;
    EventState state_of_unknown(std::uint64_t event, Leases::Standing::Kind standing) const;
    EventSpan available(std::uint64_t from, std::uint64_t min_count) const;
    void free_cleared();
    bool is_full(std::uint64_t now_ns);

    std::vector<EventRing*> rings_;
    std::atomic<bool> ended_ = false;
    Leases leases_;
    std::vector<RingScratch> scratch_;
    std::uint64_t last_closed_ = 0; // at the last tick()
    std::uint64_t last_closed_ns_ = 0;
};

} // namespace thalweg::readout
