// Builds the fragments of one group: blocks of its streams go in, finished fragments come out in its ring. Every packet
// passes through this class. Each idea has a class of its own: OpenStretches (with JumpCandidate and EventNumbers: rule
// 1 of docs/readout.md), EventCloser (rule 2), RingRoom (rule 3), GroupStreams, FragmentWriter, GroupHook, HeldPackets.
// There are two ways to a slot: packet by packet (group.cc), and, while all streams go on together, event by event
// (group_events.cc, docs/decisions/0129).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/base/shared_number.h"
#include "thalweg/felix/decoder.h"
#include "thalweg/readout/builder/event_closer.h"
#include "thalweg/readout/builder/event_ring.h"
#include "thalweg/readout/builder/fragment_writer.h"
#include "thalweg/readout/builder/group_hook.h"
#include "thalweg/readout/builder/group_options.h"
#include "thalweg/readout/builder/group_report.h"
#include "thalweg/readout/builder/group_streams.h"
#include "thalweg/readout/builder/held_packets.h"
#include "thalweg/readout/builder/open_stretches.h"
#include "thalweg/readout/builder/ring_room.h"

namespace thalweg::readout {

// One thread uses it; any thread may call `ring` and `report`.
class Group {
  public:
    explicit Group(GroupOptions options);

    EventRing& ring() { return context_.ring; }
    std::vector<std::uint16_t> const& elinks() const { return context_.options.group.elinks; }

    // Returns whether every packet of one more block would find a slot. Makes room if the configuration allows it.
    bool has_room() {
        auto const newest = stretches_.current().newest_position() + held_.longest();
        return room_.is_enough(newest) || room_.find(newest);
    }
    // Takes a block of the stream `stream`, an index into elinks(), and places its packets. Call it only if has_room()
    // returned true.
    void take_block(std::size_t stream, std::byte const* block);
    // Like take_block(), and may hold packets back until those of the other streams are there. `position` is the number
    // of the block, which stays readable until held_from() is above it.
    void hold_block(std::size_t stream, std::byte const* block, std::uint64_t position);
    // Returns the position of the first block that is held back; ~0: there is none.
    std::uint64_t held_from() const { return held_.oldest_position(); }
    // Places everything that is held back.
    void let_go();
    // Closes finished events and publishes them. Call it after some blocks, and regularly while none come.
    void tick(std::uint64_t now_ns);
    // Returns, in ticks, an epoch that contains none of this group's events.
    std::uint64_t next_epoch() const { return stretches_.numbers().epoch_behind(stretches_.current().newest_event()); }
    // The card was restarted: its event numbers begin again, in this epoch.
    void begin_epoch(std::uint64_t first_ticks);
    // The run is about to end: events from this one on are left to the next reader of the buffer, and those before it
    // may still become complete.
    void leave_from(std::uint64_t event);
    // Closes everything. No more blocks will come.
    void finish();
    // Returns whether the ring is full of closed events that a reader still needs, and not of events under
    // construction.
    bool is_held() const { return context_.ring.usable_before() < context_.ring.watermark(); }

    // Returns the time after which it closes an event that is not complete.
    std::uint64_t patience_ns() const { return context_.options.index.close_after_ns; }

    std::uint64_t newest_event() const { return newest_event_.get(); }
    std::uint64_t closed_event() const { return context_.ring.closed_event(); }
    GroupReport report() const;

  private:
    // A range of bytes, counted from the beginning of a slot.
    struct Lines {
        std::uint64_t begin;
        std::uint64_t end;
    };

    template <bool kPlain> void take_packets(std::size_t stream, std::span<felix::Packet const> packets);
    Lines share_of_prefetching(std::size_t stream, std::size_t packets) const;

    // group_events.cc
    bool goes_on(std::size_t stream, std::span<felix::Packet const> packets);
    std::size_t of_begun_events(std::size_t stream, std::size_t packets);
    bool begin_together(std::array<felix::Packet const*, kMaxStreams> const& heads) const;
    void build_events();
    template <std::uint32_t kFirstBytes>
    std::size_t build_batch(std::array<felix::Packet const*, kMaxStreams> const& heads,
                            HeldPackets::Batch const& batch);
    void build_held(std::uint64_t now_ns);
    bool is_steady() const;

    void publish();
    bool is_not_awaited() const;

    GroupContext context_;
    GroupHook hook_;
    GroupStreams streams_;
    FragmentWriter writer_;
    EventCloser closer_;
    RingRoom room_;
    OpenStretches stretches_;
    HeldPackets held_;
    bool is_steady_ = false;             // all streams go on together: packets are held back for each other
    std::size_t blocks_since_built_ = 0; // blocks that were held back since then
    std::size_t block_packets_ = 0;      // packets of the last block
    std::uint32_t widest_ = 0;           // the largest packet of the last events that were built at once, in bytes
    base::SharedNumber newest_event_;
};

} // namespace thalweg::readout
