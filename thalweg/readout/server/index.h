// What the rings of one handler hold, as requests see it: by event, over all groups.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <sys/uio.h>
#include <vector>

#include "thalweg/readout/builder/event_ring.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/readout/server/byte_buffer.h"
#include "thalweg/readout/server/leases.h"

namespace thalweg::readout {

class Index {
  public:
    // The rings outlive it.
    explicit Index(std::vector<EventRing*> rings, std::uint64_t lease_ns = 10'000'000'000);

    // Every event before it is closed in every group that lives; 0: none yet.
    std::uint64_t closed_event() const;
    // The run has ended: what only some of the groups have seen is closed, too.
    void end_run() { ended_ = true; }
    // The oldest event that is kept; 0: none yet.
    std::uint64_t first_event() const;

    // Appends records and fragments of [first, first + count) to `out`, until `max_bytes` are reached - one event at
    // least - or an event comes that is not closed and `with_open` is not set (it is told as `open_as` where it is).
    // Returns the first event that is not in it. `thread`: of the Pin.
    struct Limits {
        std::uint64_t count = 1;
        std::uint64_t max_bytes = ~0ull;
        bool with_open = false;
        EventState open_as = EventState::not_yet;
    };
    // What was read, by state.
    struct Tally {
        std::array<std::uint64_t, 6> events = {};
        std::uint64_t fragments = 0;
    };
    std::uint64_t read(std::uint64_t first, Limits const& limits, std::size_t thread, ByteBuffer& out,
                       Tally* tally = nullptr);

    // The same without a copy: pieces of `records` and of the rings, in order, which stay during `use(next)`. Whatever
    // `records` holds before comes first.
    struct Pieces {
        ByteBuffer records;
        std::vector<iovec> pieces;
        std::uint64_t bytes = 0;
    };
    void gather(std::uint64_t first, Limits const& limits, std::size_t thread, Pieces& out, Tally* tally,
                std::function<void(std::uint64_t next)> const& use);

    // Who owns which range. Clearing frees slots, once everything before is cleared, too.
    Leases& leases() { return leases_; }
    // Of closed events of one ECR, without a jump; none while fewer than `min_count` are there and more may come.
    std::optional<Leases::Taking> take(RangeOwner const& owner, std::uint64_t count, std::uint64_t min_count,
                                       std::uint64_t now_ns);
    // Only what Leases::take_left_behind gives.
    std::optional<Leases::Taking> take_left_behind(RangeOwner const& owner, std::uint64_t count, std::uint64_t now_ns);
    // By asking for them. Not of what begins more than `reach` events behind what is closed.
    bool claim(std::uint64_t first, std::uint64_t count, RangeOwner const& owner, std::uint64_t now_ns,
               std::uint64_t reach = kEventsOfEcr);
    bool clear(std::uint64_t first, std::uint64_t count, RangeOwner const& owner, std::uint64_t now_ns);
    // Whether events are left that nobody has, or has cleared.
    bool has_more();
    // Now and then, by one thread: leases learn what was evicted, and expire, and what nobody wants makes room. Events
    // that were skipped.
    std::uint64_t tick(std::uint64_t now_ns);
    // What became of the fragments, by ring.
    std::vector<EventRing::Books> books() const;

  private:
    // One ring during one request.
    struct RingCursor {
        EventRing* ring = nullptr;
        std::uint64_t position = 0;
        bool known = false;
        FragmentHeader const* header = nullptr; // of the event at hand
    };
    struct Scratch { // of one thread
        std::vector<RingCursor> cursors;
        std::vector<std::optional<EventRing::Pin>> pins;
    };
    struct Pinned;
    struct Segment; // events in a row that are treated alike

    template <typename Sink>
    std::uint64_t walk(std::uint64_t first, Limits const& limits, Scratch& scratch, Tally& tally, Sink&& sink);
    template <typename Sink>
    std::uint64_t walk_readable(Segment const& segment, std::uint64_t max_bytes, Scratch& scratch, Tally& tally,
                                Sink&& sink);
    Segment segment_at(std::uint64_t event, std::uint64_t end, std::vector<RingCursor>& cursors) const;
    EventState state_of_unknown(std::uint64_t event, Leases::Standing::Kind standing) const;
    EventRange available(std::uint64_t from, std::uint64_t min_count) const;
    void free_cleared();
    bool is_full(std::uint64_t now_ns);

    std::vector<EventRing*> rings_;
    std::atomic<bool> ended_ = false;
    Leases leases_;
    std::vector<Scratch> scratch_;
    std::uint64_t last_closed_ = 0; // as tick() saw it
    std::uint64_t last_closed_ns_ = 0;
};

} // namespace thalweg::readout
