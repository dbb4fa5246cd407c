// Which collector owns which range of events, and which ranges are cleared. Safe to call from any thread.
//
//   events   ... cleared | owned by A | free | owned by B | cleared | free ...
//                        | floor: everything before it is cleared or lost
//
// An event is in one of four states. These functions change it:
//   free      no collector owns it                    take, take_left_behind, claim  -> owned
//   owned     one collector owns it                   clear -> cleared; give_back, expire -> returned
//   returned  free, but its last owner is known       as free; its last owner may also clear it
//   cleared   some collector has it durably           forget_before and skip_unclaimed also end here: "lost"
//
// Invariants:
//   1. An event has at most one owner.
//   2. Only its owner, or its last owner while no other has it, clears an event, and only with the right key.
//   3. Cleared is final: no function leaves this state.
//   4. The floor only rises. Everything before it is cleared or lost, and has no piece in the map.
//   5. outstanding_ is the number of owned events, in total and as the sum over owners_.
//   6. take, claim and clear refuse a range that needs another piece if the map has kMaxPieces of them, so that no
//      collector can exhaust the memory.
//
// set() checks 3, raise_floor() checks 4 and (in tests) 5, clear() checks 1.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/readout/builder/event_ring.h"
#include "thalweg/readout/seal.h"
#include "thalweg/readout/server/interval_map.h"

namespace thalweg::readout {

using OwnerId = std::array<std::uint64_t, 2>;

// The owner of a range and the proof of it: other clients can learn the client's number, which travels over the
// network, but not the key of the seal.
struct RangeOwner {
    RangeOwner(OwnerId const& owner = {}, RangeSeal const& its_seal = {})
        : id(owner), seal(its_seal) {} // NOLINT: any owner
    OwnerId id;
    RangeSeal seal;
    bool operator==(RangeOwner const&) const = default;
};

class Leases {
  public:
    // The limit of separate ranges. A request that would need more is refused, so that no collector can exhaust the
    // memory.
    static constexpr std::size_t kMaxPieces = 1 << 16;

    explicit Leases(std::uint64_t lease_ns = 10'000'000'000) : lease_ns_(lease_ns) {}
    void set_lease_ns(std::uint64_t lease_ns, std::uint64_t longest_ns = ~std::uint64_t{0});

    // Takes the next range without an owner, of at most `count` events: first what other owners let expire, then what
    // was never given away. `available(from)` returns the first run of events at or behind `from` that could be given
    // (count 0: none). Events that it leaves out will never exist, and are cleared.
    struct Taking {
        EventSpan range;
        bool again = false;
    };
    using Available = std::function<EventSpan(std::uint64_t from)>;
    std::optional<Taking> take(RangeOwner const& owner, std::uint64_t count, std::uint64_t now_ns,
                               Available const& available);
    // Takes a range although another handler gives ranges away: the next range that no client has asked for, although
    // later events were claimed, or asked for far ahead, half a lease ago. After the end of the run it gives everything
    // that is left once no client has asked for a second.
    std::optional<Taking> take_left_behind(RangeOwner const& owner, std::uint64_t count, std::uint64_t now_ns,
                                           bool ended, Available const& available);
    // Returns whether there is a range to take.
    bool has_free(Available const& available) const;
    // Makes the client that asks for these events their owner, if another handler gave the range away. Returns false if
    // another client owns some of them.
    bool claim(RangeOwner const& owner, EventSpan const& range, std::uint64_t now_ns);
    // Notes that a client asks for events that begin too far ahead to be owned now.
    void note_far_ahead(OwnerId const& owner, std::uint64_t first, std::uint64_t now_ns);
    // Clears the events of the range that the client owns, or owned last, and for which it showed the same seal. May be
    // repeated. Returns false if some of the range is neither that nor cleared.
    bool clear(RangeOwner const& owner, EventSpan const& range, std::uint64_t now_ns);
    // Notes a sign of life of the owner.
    void renew(OwnerId const& owner, std::uint64_t now_ns);
    // Frees all ranges of the owner at once.
    void give_back(OwnerId const& owner, std::uint64_t now_ns);
    // No event from `end` on will ever be there: from now on no client owns any of them.
    void end_at(std::uint64_t end);
    // Frees the ranges of owners that were silent for too long, and of those that held up all others for too long, even
    // if they are not silent. The latter limit is one lease if the index is full and another collector waits. An owner
    // that loses its ranges like that gets no others until it clears something, or for as long again.
    void expire(std::uint64_t now_ns, bool is_full = false);

    // Events before `event` do not exist (any more). The first call says where the run begins, later ones what made
    // room.
    void forget_before(std::uint64_t event);
    // Clears events that no client will ask for: their collector died before it asked this handler, or this handler
    // began earlier than the others. It clears the oldest events without an owner if there is no room and later ones
    // were claimed, or asked for far ahead, a lease ago (two leases if the events had an owner once). It does nothing
    // while no collector is alive, because the next one may ask. Returns the number of skipped events.
    std::uint64_t skip_unclaimed(std::uint64_t now_ns, bool is_full);
    // Ranges below cleared_before() that were never cleared. Old ones are forgotten.
    std::vector<Forgotten> forgotten() const;
    // Ranges from cleared_before() on that are cleared.
    std::vector<EventSpan> cleared_ahead() const;

    // Returns an event before which all events are cleared or lost.
    std::uint64_t cleared_before() const;
    bool is_cleared(std::uint64_t event) const;
    // The state of `event` and of those behind it, up to `until` (at most `limit`).
    struct Standing {
        enum Kind : std::uint8_t { kept, cleared, lost } kind = kept;
        std::uint64_t until = 0;
    };
    Standing standing(std::uint64_t event, std::uint64_t limit) const;
    // Returns the number of events that are owned and not cleared; the second form leaves out those of `except`.
    std::uint64_t outstanding() const;
    std::uint64_t outstanding(OwnerId const& except) const;
    std::uint64_t expired() const; // ranges that went to another client

  private:
    static constexpr std::uint64_t kNever = ~std::uint64_t{0};

    struct Ownership {
        enum Kind : std::uint8_t { owned, returned, cleared } kind = cleared;
        RangeOwner owner = {}; // of a returned range: its last owner
        std::uint64_t since_ns = 0;
        bool operator==(Ownership const&) const = default;
    };
    struct OwnerAccount {
        std::uint64_t events = 0;
        std::uint64_t seen_ns = 0;
    };
    struct Heard {
        OwnerId owner = {};
        std::uint64_t ns = 0;
        bool is_set = false;
    };

    void set(std::uint64_t first, std::uint64_t end, Ownership const& state) THALWEG_REQUIRES(mutex_);
    // Returns the ranges without an owner that are not cleared.
    std::vector<EventSpan> free_in(std::uint64_t first, std::uint64_t end) const THALWEG_REQUIRES(mutex_);
    void own(RangeOwner const& owner, std::uint64_t first, std::uint64_t end, std::uint64_t now_ns)
        THALWEG_REQUIRES(mutex_);
    void return_all(OwnerId const& owner, std::uint64_t now_ns) THALWEG_REQUIRES(mutex_);
    void forget_returned() THALWEG_REQUIRES(mutex_);
    void return_silent(std::uint64_t now_ns) THALWEG_REQUIRES(mutex_);
    void relieve_slow(std::uint64_t now_ns, bool is_full) THALWEG_REQUIRES(mutex_);
    void note_heard(OwnerId const& owner, std::uint64_t now_ns) THALWEG_REQUIRES(mutex_);
    static bool is_recent(Heard const& heard, std::uint64_t now_ns, std::uint64_t lease_ns) {
        return heard.is_set && now_ns - std::min(now_ns, heard.ns) <= lease_ns;
    }
    bool any_collector_lives(std::uint64_t now_ns) const THALWEG_REQUIRES(mutex_);
    bool another_collector_lives(OwnerId const& owner, std::uint64_t now_ns) const THALWEG_REQUIRES(mutex_);
    bool is_relieved(OwnerId const& owner, std::uint64_t now_ns) const THALWEG_REQUIRES(mutex_);
    void note_asked(std::uint64_t before, std::uint64_t now_ns) THALWEG_REQUIRES(mutex_);
    std::uint64_t left_behind_before(std::uint64_t now_ns, bool ended) const THALWEG_REQUIRES(mutex_);
    void raise_floor() THALWEG_REQUIRES(mutex_);
    std::uint64_t owned_events() const THALWEG_REQUIRES(mutex_);
    void forget(std::uint64_t end, Forgotten::Why why) THALWEG_REQUIRES(mutex_); // begins at floor_
    bool another_owner_has(OwnerId const& owner, EventSpan const& range) const THALWEG_REQUIRES(mutex_);
    std::vector<EventSpan> own_parts(RangeOwner const& owner, EventSpan const& range) const THALWEG_REQUIRES(mutex_);
    bool is_all_cleared(EventSpan const& range) const THALWEG_REQUIRES(mutex_);
    bool adds_piece(EventSpan const& range) const THALWEG_REQUIRES(mutex_);

    mutable base::Mutex mutex_;
    std::uint64_t lease_ns_ THALWEG_GUARDED_BY(mutex_);
    std::uint64_t longest_ns_ THALWEG_GUARDED_BY(mutex_) = ~std::uint64_t{0};
    IntervalMap<Ownership> pieces_ THALWEG_GUARDED_BY(mutex_);          // begins at floor_
    IntervalMap<Forgotten::Why> forgotten_ THALWEG_GUARDED_BY(mutex_);  // before floor_: the last few
    std::map<OwnerId, OwnerAccount> owners_ THALWEG_GUARDED_BY(mutex_); // of owned pieces
    std::map<OwnerId, std::uint64_t> relieved_until_ns_ THALWEG_GUARDED_BY(mutex_);
    std::array<Heard, 2> heard_ THALWEG_GUARDED_BY(mutex_); // the last two collectors that sent anything
    std::uint64_t begin_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t floor_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t end_ THALWEG_GUARDED_BY(mutex_) = kNever;    // events from it on will never be there
    std::uint64_t search_from_ THALWEG_GUARDED_BY(mutex_) = 0; // no event before it is free
    // The first event that was too far ahead for the client that asked for it.
    std::uint64_t far_ahead_ THALWEG_GUARDED_BY(mutex_) = ~std::uint64_t{0};
    // Clients have asked for events before this one: until now, and until so many eighths of a lease ago.
    std::array<std::uint64_t, 5> asked_before_ THALWEG_GUARDED_BY(mutex_) = {};
    std::uint64_t next_step_ns_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t last_asked_ns_ THALWEG_GUARDED_BY(mutex_) = 0;
    // A range was returned then; its next owner may still have to ask for it.
    std::uint64_t last_returned_ns_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t outstanding_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t expired_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t next_expiry_ns_ THALWEG_GUARDED_BY(mutex_) = ~std::uint64_t{0}; // no lease ends earlier
    std::uint64_t blocked_since_ns_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t blocked_at_ THALWEG_GUARDED_BY(mutex_) = ~std::uint64_t{0};
    bool gives_ THALWEG_GUARDED_BY(mutex_) = false; // this handler gives ranges away
};

} // namespace thalweg::readout
