// Builds the fragments of one group: blocks of its streams in, finished fragments in its ring. Rules 1 to 3 of
// docs/readout.md are here.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "thalweg/base/shared_number.h"
#include "thalweg/felix/decoder.h"
#include "thalweg/readout/builder/event_ring.h"
#include "thalweg/readout/builder/group_report.h"
#include "thalweg/readout/builder/hooks.h"
#include "thalweg/readout/config.h"

namespace thalweg::readout {

// What the groups of one handler know of each other: a link that is silent is dead only if others go on.
struct Activity {
    std::atomic<std::uint64_t> newest_event = 0;
    std::atomic<std::uint64_t> first_data_ns = 0;
};

struct GroupOptions {
    GroupConfig group;
    TriggerConfig trigger;
    IndexConfig index;
    felix::BlockFormat format;
    std::uint32_t run = 1;
    std::uint64_t newest_event = 0; // of the reader before us; 0: there was none
    std::uint64_t closed_event = 0; // it had closed all before this one; 0: there was none
    std::shared_ptr<Activity> activity = std::make_shared<Activity>();
    std::shared_ptr<HookLibrary> hook = nullptr;
};

// Used by one thread; `ring` and `report` by any.
class Group {
  public:
    explicit Group(GroupOptions options);
    ~Group();

    EventRing& ring() { return ring_; }
    std::vector<std::uint16_t> const& elinks() const { return options_.group.elinks; }

    // Whether every packet of one more block would find a slot. Makes room where it may.
    bool has_room() { return newest_.position + margin_ <= room_end_ || find_room(); }
    // `stream`: index into elinks(). Only when there is room.
    void take_block(std::size_t stream, std::byte const* block);
    // After some blocks, and every now and then when none come: closes what is finished, and shows it.
    void tick(std::uint64_t now_ns);
    // In ticks, of an epoch that none of our events is in.
    std::uint64_t next_epoch() const;
    // The card was started anew: its events begin again, in this epoch.
    void begin_epoch(std::uint64_t first_ticks);
    // No more blocks will come: closes everything.
    void finish();
    // Full of events that somebody else still wants, not of events under construction.
    bool is_held() const { return ring_.usable_before() < ring_.closed_position(); }

    std::uint64_t newest_event() const { return newest_event_.get(); }
    std::uint64_t closed_event() const { return ring_.closed_event(); }
    GroupReport report() const;

  private:
    // The newest event of a stretch, by which the others are told.
    struct Reference {
        std::uint64_t event = 0;
        std::uint64_t position = 0;
    };
    // A stretch under construction. Positions [low, limit) are its own.
    struct Building {
        Reference newest;
        std::uint64_t low = 0;
        std::uint64_t limit = ~0ull;
        std::uint64_t lowest = ~0ull; // position of the first event of which a packet came
        bool announced = false;       // to the readers of the ring

        std::uint64_t event_of(std::uint64_t position) const { return newest.event + (position - newest.position); }
    };
    // A jump that some streams have made; it counts when most have.
    struct Candidate {
        Building building;
        std::uint64_t since_ns = 0;
        std::uint64_t since_position = 0; // of the newest event then
        std::uint64_t streams = 0;
        std::uint64_t packets = 0;
        std::array<std::uint64_t, kMaxStreams> delivered = {};
        std::array<std::uint64_t, kMaxStreams> duplicates = {};
        std::array<std::uint64_t, kMaxStreams> progress = {};
    };
    struct Stream {
        explicit Stream(felix::BlockFormat const& format) : decoder(format, kMaxPayloadBytes) {}

        felix::StreamDecoder decoder;
        PacketCounters counters;
        std::uint16_t elink = 0;
        bool enabled = true;
        bool out_of_step = false;    // it jumped alone: it may not propose a jump until it is back
        std::uint64_t progress = 0;  // position of its newest packet, plus 1; 0: none yet
        std::uint64_t first = ~0ull; // position of its first one
        std::uint64_t last_packet_ns = 0;
        std::uint64_t late_streak = 0; // late packets in a row, while the newest event stood still:
        std::uint64_t late_since = 0;  // here (position)
        base::SharedNumber live;
        base::SharedNumber deaths;
    };
    // What a packet says of itself. `raw`: ECR << 24 | L1ID, or the ticks of a timestamp.
    struct Key {
        std::uint32_t raw = 0;
        std::uint16_t bcid = 0;
        std::uint32_t trigger_type = 0;
    };

    // Which events are placed at once. Position = event + shift.
    struct Window {
        std::uint64_t newest;
        std::uint64_t shift;
        std::uint64_t low;
        std::uint64_t room;  // from `low` on
        std::uint64_t limit; // of the stretch and the ring
    };

    // Bytes from a slot's beginning on.
    struct Lines {
        std::uint64_t begin;
        std::uint64_t end;
    };

    // Packets into slots: group.cc.
    Lines share_of_prefetching(std::size_t stream, std::size_t packets) const;
    Window window_of(Building const& building) const;
    template <bool kPlain> void take_packets(std::size_t stream, std::span<felix::Packet const> packets);
    static bool read_key(TriggerConfig const& trigger, felix::Packet const& packet, Key& key);
    bool ask_hook(Stream const& stream, felix::Packet const& packet, Key& key, bool& damaged);
    static std::uint64_t event_of(std::uint32_t raw, std::uint64_t reference, std::uint32_t ticks_of_slice);
    void begin_fragment(FragmentHeader* fragment, std::uint64_t event, Key const& key) const;
    template <bool kAnyMode>
    bool put(FragmentHeader* fragment, std::size_t stream, felix::Packet const& packet, Key const& key);
    void note_delivery(Stream& stream, std::uint64_t bit, std::uint64_t progress);
    void set_bounds();

    // What does not fall into the window: group_jump.cc.
    void place_elsewhere(std::size_t stream, felix::Packet const& packet, Key const& key);
    bool place_now(std::size_t stream, felix::Packet const& packet, Key const& key);
    struct Placed {
        bool done = false;
        bool duplicate = false;
        std::uint64_t position = 0;
    };
    Placed place_in(Building& building, std::uint64_t low, std::size_t stream, felix::Packet const& packet,
                    Key const& key);
    bool place_in_candidate(std::size_t stream, felix::Packet const& packet, Key const& key);
    bool is_late(std::uint64_t event) const;
    bool has_fallen_back(Stream& stream) const;
    void begin_anew();
    void discard(Building const& building);
    void begin(std::uint32_t raw);
    std::uint64_t first_event_of(std::uint32_t raw) const;
    bool was_closed_before(Stream& stream, std::uint32_t raw) const;
    void propose_jump(std::uint64_t event);
    void look_at_candidate(bool finishing);
    void accept_candidate();
    void reject_candidate();

    // Closing: group_close.cc.
    std::uint64_t passed_position() const;
    void look_for_dead();
    void close_old(std::uint64_t passed, bool finishing);
    void close_up_to(Building& building, std::uint64_t end, std::uint64_t passed, bool finishing);
    // Why the event at a position may be closed; nothing: it may not yet.
    std::optional<std::uint32_t> reason_to_close(FragmentHeader const* fragment, std::uint64_t position,
                                                 std::uint64_t passed, bool finishing);
    bool is_old_hole(std::uint64_t position);
    std::uint32_t why_missing(std::uint64_t missing, std::uint64_t position) const;
    void close_fragment(FragmentHeader* fragment, std::uint32_t status);
    void rewrite(FragmentHeader* fragment);
    void announce(Building& building);
    void publish();
    bool is_nobody() const;
    bool find_room();

    GroupOptions options_;
    bool slices_;             // triggerless
    std::uint32_t ticks_ = 1; // of a slice
    EventRing ring_;
    std::unique_ptr<Hook> hook_;
    std::vector<std::unique_ptr<Stream>> streams_;
    FragmentHeader blank_;
    std::uint64_t enabled_map_ = 0;
    std::uint64_t live_map_ = 0;

    // The stretch that most packets are of. Those from newest_.position + (low_ .. limit_) are placed at once.
    Building current_;
    Reference& newest_ = current_.newest;
    std::uint64_t low_ = 0;   // position
    std::uint64_t limit_ = 0; // position
    bool begun_ = false;
    std::uint64_t epoch_ticks_ = 0; // the epoch of this card begins here, if we were told
    std::optional<Building> old_;   // the stretch before a jump, until all streams have left it
    std::uint64_t jumped_ns_ = 0;
    std::optional<Candidate> candidate_;

    std::uint64_t open_ = 0;     // position: everything before it is closed
    std::uint64_t hole_ = ~0ull; // position of an event without packets that holds up the others, and since when
    std::uint64_t hole_since_ns_ = 0;
    std::uint64_t margin_;
    std::uint64_t room_end_ = 0; // slots before it may be used
    std::uint64_t now_ns_;       // as of the last tick
    std::uint64_t next_look_ns_ = 0;
    std::uint64_t last_data_ns_ = 0;
    std::uint64_t closed_event_ = 0;  // as published
    std::uint32_t typical_bytes_ = 0; // of the last fragment that was closed

    base::SharedNumber complete_, incomplete_, absent_, overflows_, timed_out_, jumps_, hook_failures_, hook_overruns_;
    base::SharedNumber newest_event_, open_events_;
};

} // namespace thalweg::readout
