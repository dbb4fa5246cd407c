// Which range of events belongs to which collector, and what is cleared. A range has one owner; when the owner has been
// silent for longer than the lease, the range goes to the next who takes. Used from any thread.
//
//   events   ... cleared | owned by A | nobody's | owned by B | cleared | nobody's ...
//                        | floor: everything before it is cleared or lost
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

// Who owns a range, and what shows it: the client's number goes over the network, so it proves nothing.
struct RangeOwner {
    RangeOwner(OwnerId const& owner = {}, Seal const& its_seal = {}) : id(owner), seal(its_seal) {} // NOLINT: any owner
    OwnerId id;
    Seal seal;
    bool operator==(RangeOwner const&) const = default;
};

struct EventRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;

    std::uint64_t end() const { return first + count; }
    bool operator==(EventRange const&) const = default;
};

class Leases {
  public:
    // Ranges kept apart; what would need more is refused, so that no collector can make us run out of memory.
    static constexpr std::size_t kMaxPieces = 1 << 16;

    explicit Leases(std::uint64_t lease_ns = 10'000'000'000) : lease_ns_(lease_ns) {}
    void set_lease_ns(std::uint64_t lease_ns, std::uint64_t longest_ns = ~std::uint64_t{0});

    // The next range nobody has, of at most `count` events: first what others let expire, then what was never given
    // away. `available(from)` tells the first run of events at or behind `from` that could be given (count 0: none);
    // what it leaves out will never be there, and is cleared.
    struct Taking {
        EventRange range;
        bool again = false;
    };
    using Available = std::function<EventRange(std::uint64_t from)>;
    std::optional<Taking> take(RangeOwner const& owner, std::uint64_t count, std::uint64_t now_ns,
                               Available const& available);
    // Where another handler gives ranges away: the next range that nobody has asked for, though what is later was
    // claimed or asked for far ahead half a lease ago. Once the run has ended, all that is left when nobody has asked
    // for a second.
    std::optional<Taking> take_left_behind(RangeOwner const& owner, std::uint64_t count, std::uint64_t now_ns,
                                           bool ended, Available const& available);
    // Whether somebody could take something.
    bool has_free(Available const& available) const;
    // The owner asks a handler, that did not give the range away itself, for its events: it is now the owner here, too,
    // unless somebody else is (false).
    bool claim(RangeOwner const& owner, EventRange const& range, std::uint64_t now_ns);
    // It asks for what begins too far ahead to be its own already.
    void note_far_ahead(OwnerId const& owner, std::uint64_t first, std::uint64_t now_ns);
    // What of it is the owner's, who was at least the last to own it, and asked for it under the same seal. Idempotent;
    // false where some of it is neither that nor cleared.
    bool clear(RangeOwner const& owner, EventRange const& range, std::uint64_t now_ns);
    // A sign of life.
    void renew(OwnerId const& owner, std::uint64_t now_ns);
    // Its ranges are free at once.
    void give_back(OwnerId const& owner, std::uint64_t now_ns);
    // So are those of owners that were silent for too long; or had what holds up all others for too long, whatever they
    // say: that is a lease where the index is full and another collector waits. Who was relieved like that is given
    // nothing more until it clears something, or for as long again.
    void expire(std::uint64_t now_ns, bool is_full = false);

    // There is nothing before `event` (any more): the first call says where the run begins, others what made room.
    void forget_before(std::uint64_t event);
    // Where another handler gives ranges away, some may never be asked for here: the collector died before it did, or
    // this handler began earlier. What nobody asked for, though events behind it were claimed or asked for far ahead a
    // lease ago (two leases, where it had an owner once), is cleared when there is no room. Not while no collector
    // lives: the next one may ask. Returns how many events were.
    std::uint64_t skip_unclaimed(std::uint64_t now_ns, bool is_full);
    // Of all before cleared_before(): what nobody has cleared. Of long ago it tells no more.
    std::vector<Forgotten> forgotten() const;
    // Of all from cleared_before() on: what was cleared.
    std::vector<EventRing::Events> cleared_ahead() const;

    // Events before it are cleared or lost, all of them.
    std::uint64_t cleared_before() const;
    bool is_cleared(std::uint64_t event) const;
    // Of `event` and those behind it, up to `until` (at most `limit`).
    struct Standing {
        enum Kind : std::uint8_t { kept, cleared, lost } kind = kept;
        std::uint64_t until = 0;
    };
    Standing standing(std::uint64_t event, std::uint64_t limit) const;
    // Events that somebody owns and has not cleared; without those of `except`.
    std::uint64_t outstanding() const;
    std::uint64_t outstanding(OwnerId const& except) const;
    std::uint64_t expired() const; // ranges that went to somebody else

  private:
    struct State {
        enum Kind : std::uint8_t { owned, returned, cleared } kind = cleared;
        RangeOwner owner = {}; // of what is returned: the last one
        std::uint64_t since_ns = 0;
        bool operator==(State const&) const = default;
    };
    struct Owner {
        std::uint64_t events = 0;
        std::uint64_t seen_ns = 0;
    };
    struct Heard {
        OwnerId owner = {};
        std::uint64_t ns = 0;
        bool is_somebody = false;
    };

    void set(std::uint64_t first, std::uint64_t end, State const& state) THALWEG_REQUIRES(mutex_);
    // Which nobody owns or has cleared.
    std::vector<EventRange> free_in(std::uint64_t first, std::uint64_t end) const THALWEG_REQUIRES(mutex_);
    void own(RangeOwner const& owner, std::uint64_t first, std::uint64_t end, std::uint64_t now_ns)
        THALWEG_REQUIRES(mutex_);
    void return_all(OwnerId const& owner, std::uint64_t now_ns) THALWEG_REQUIRES(mutex_);
    void forget_returned() THALWEG_REQUIRES(mutex_);
    void return_silent(std::uint64_t now_ns) THALWEG_REQUIRES(mutex_);
    void relieve_slow(std::uint64_t now_ns, bool is_full) THALWEG_REQUIRES(mutex_);
    void note_heard(OwnerId const& owner, std::uint64_t now_ns) THALWEG_REQUIRES(mutex_);
    static bool is_recent(Heard const& heard, std::uint64_t now_ns, std::uint64_t lease_ns) {
        return heard.is_somebody && now_ns - std::min(now_ns, heard.ns) <= lease_ns;
    }
    bool somebody_lives(std::uint64_t now_ns) const THALWEG_REQUIRES(mutex_);
    bool somebody_else_lives(OwnerId const& owner, std::uint64_t now_ns) const THALWEG_REQUIRES(mutex_);
    bool is_relieved(OwnerId const& owner, std::uint64_t now_ns) const THALWEG_REQUIRES(mutex_);
    void note_asked(std::uint64_t before, std::uint64_t now_ns) THALWEG_REQUIRES(mutex_);
    std::uint64_t left_behind_before(std::uint64_t now_ns, bool ended) const THALWEG_REQUIRES(mutex_);
    void raise_floor() THALWEG_REQUIRES(mutex_);
    std::uint64_t owned_events() const THALWEG_REQUIRES(mutex_);
    void forget(std::uint64_t end, Forgotten::Why why) THALWEG_REQUIRES(mutex_); // from floor_ on
    bool somebody_else_has(OwnerId const& owner, EventRange const& range) const THALWEG_REQUIRES(mutex_);
    std::vector<EventRange> own_parts(RangeOwner const& owner, EventRange const& range) const THALWEG_REQUIRES(mutex_);
    bool is_all_cleared(EventRange const& range) const THALWEG_REQUIRES(mutex_);
    bool adds_piece(EventRange const& range) const THALWEG_REQUIRES(mutex_);

    mutable base::Mutex mutex_;
    std::uint64_t lease_ns_ THALWEG_GUARDED_BY(mutex_);
    std::uint64_t longest_ns_ THALWEG_GUARDED_BY(mutex_) = ~std::uint64_t{0};
    IntervalMap<State> pieces_ THALWEG_GUARDED_BY(mutex_);             // from floor_ on
    IntervalMap<Forgotten::Why> forgotten_ THALWEG_GUARDED_BY(mutex_); // before floor_: the last few
    std::map<OwnerId, Owner> owners_ THALWEG_GUARDED_BY(mutex_);       // of pieces that are owned
    std::map<OwnerId, std::uint64_t> relieved_until_ns_ THALWEG_GUARDED_BY(mutex_);
    std::array<Heard, 2> heard_ THALWEG_GUARDED_BY(mutex_); // the last two collectors that said anything
    std::uint64_t begin_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t floor_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t search_from_ THALWEG_GUARDED_BY(mutex_) = 0; // nothing before it is free
    // The first event that was too far ahead for who asked for it
    std::uint64_t far_ahead_ THALWEG_GUARDED_BY(mutex_) = ~std::uint64_t{0};
    // Others have asked for what is before this event: now, and in steps of an eighth of a lease ago.
    std::array<std::uint64_t, 5> asked_before_ THALWEG_GUARDED_BY(mutex_) = {};
    std::uint64_t next_step_ns_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t last_asked_ns_ THALWEG_GUARDED_BY(mutex_) = 0;
    // Who has these next may still have to ask for them
    std::uint64_t last_returned_ns_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t outstanding_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t expired_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t next_expiry_ns_ THALWEG_GUARDED_BY(mutex_) = ~std::uint64_t{0}; // no lease ends before
    std::uint64_t blocked_since_ns_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t blocked_at_ THALWEG_GUARDED_BY(mutex_) = ~std::uint64_t{0};
    bool gives_ THALWEG_GUARDED_BY(mutex_) = false; // somebody took a range here
};

} // namespace thalweg::readout
