// Builds the fragments of one group: blocks of its streams in, finished fragments in its ring. Here is what every
// packet comes by; each idea of its own has a class: OpenStretches (with JumpCandidate and EventNumbers: rule 1 of
// docs/readout.md), EventCloser (rule 2), RingRoom (rule 3), GroupStreams, FragmentWriter, GroupHook.
#pragma once

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
#include "thalweg/readout/builder/open_stretches.h"
#include "thalweg/readout/builder/ring_room.h"

namespace thalweg::readout {

// Used by one thread; `ring` and `report` by any.
class Group {
  public:
    explicit Group(GroupOptions options);

    EventRing& ring() { return context_.ring; }
    std::vector<std::uint16_t> const& elinks() const { return context_.options.group.elinks; }

    // Whether every packet of one more block would find a slot. Makes room where it may.
    bool has_room() {
        auto const newest = stretches_.current().newest_position();
        return room_.is_enough(newest) || room_.find(newest);
    }
    // `stream`: index into elinks(). Only when there is room.
    void take_block(std::size_t stream, std::byte const* block);
    // After some blocks, and every now and then when none come: closes what is finished, and shows it.
    void tick(std::uint64_t now_ns);
    // In ticks, of an epoch that none of our events is in.
    std::uint64_t next_epoch() const { return stretches_.numbers().epoch_behind(stretches_.current().newest_event()); }
    // The card was started anew: its events begin again, in this epoch.
    void begin_epoch(std::uint64_t first_ticks);
    // No more blocks will come: closes everything.
    void finish();
    // Full of events that somebody else still wants, not of events under construction.
    bool is_held() const { return context_.ring.usable_before() < context_.ring.closed_position(); }

    std::uint64_t newest_event() const { return newest_event_.get(); }
    std::uint64_t closed_event() const { return context_.ring.closed_event(); }
    GroupReport report() const;

  private:
    // Bytes from a slot's beginning on.
    struct Lines {
        std::uint64_t begin;
        std::uint64_t end;
    };

    template <bool kPlain> void take_packets(std::size_t stream, std::span<felix::Packet const> packets);
    Lines share_of_prefetching(std::size_t stream, std::size_t packets) const;
    void publish();
    bool holds_up_nobody() const;

    GroupContext context_;
    GroupHook hook_;
    GroupStreams streams_;
    FragmentWriter writer_;
    EventCloser closer_;
    RingRoom room_;
    OpenStretches stretches_;
    base::SharedNumber newest_event_;
};

} // namespace thalweg::readout
