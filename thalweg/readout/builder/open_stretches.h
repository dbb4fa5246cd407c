// Rule 1 of docs/readout.md: the stretches of a group that are under construction, and the change from one to the next.
// There are up to three: the current one, to which most packets belong; the one before it, until all streams have left
// it; and a candidate, to which some streams have jumped.
//
//   positions   ... old ... | ... current ... | ... candidate ...
#pragma once

#include <cstdint>
#include <optional>

#include "thalweg/base/shared_number.h"
#include "thalweg/readout/builder/event_closer.h"
#include "thalweg/readout/builder/event_numbers.h"
#include "thalweg/readout/builder/fragment_writer.h"
#include "thalweg/readout/builder/group_options.h"
#include "thalweg/readout/builder/group_streams.h"
#include "thalweg/readout/builder/jump_candidate.h"
#include "thalweg/readout/builder/open_stretch.h"
#include "thalweg/readout/builder/ring_room.h"

namespace thalweg::readout {

class OpenStretches {
  public:
    OpenStretches(GroupContext& context, GroupStreams& streams, FragmentWriter& writer, EventCloser& closer,
                  RingRoom const& room);

    bool have_begun() const { return begun_; } // false before the first packet
    // Returns whether there is only the current stretch, and no change to another one.
    bool is_single() const { return !old_ && !candidate_; }
    OpenStretch& current() { return current_; }
    OpenStretch const& current() const { return current_; }
    // Returns the stretch whose events are closed first.
    OpenStretch const& oldest() const { return old_ ? *old_ : current_; }
    EventNumbers const& numbers() const { return numbers_; }
    // Returns the events of the newest stretch that are placed at once. It is empty before the first packet.
    Window window() const;
    std::uint64_t jumps() const { return jumps_.get(); }
    // Returns the packets of a stream in a jump that is neither accepted nor rejected yet.
    std::uint64_t undecided(std::size_t stream) const {
        return candidate_ ? candidate_->share_of(stream).packets() : 0;
    }

    // Places a packet that the window does not hold, and counts it.
    void place(std::size_t stream, felix::Packet const& packet, PacketKey const& key);
    // Closes what is finished; everything if `finishing`.
    void close(bool finishing);
    // The card was restarted: its event numbers begin again, in this epoch. Call it after everything is closed.
    void begin_epoch(std::uint64_t first_ticks);
    // From now on packets of this event, and of later ones, are left to the next reader of the buffer.
    void leave_from(std::uint64_t event) { left_from_ = event; }

  private:
    struct PlacedPacket {
        bool done = false;
        bool duplicate = false;
        std::uint64_t position = 0;
    };

    // open_stretches.cc
    bool place_now(std::size_t stream, felix::Packet const& packet, PacketKey const& key);
    PlacedPacket place_in(OpenStretch& stretch, felix::Packet const& packet, std::size_t index, PacketKey const& key);
    bool is_late(std::uint64_t event) const;
    bool has_fallen_back(GroupStream& stream) const;
    std::uint64_t first_event_of(std::uint32_t raw) const;
    bool was_closed_before(GroupStream& stream, std::uint32_t raw) const;
    bool is_left(std::uint32_t raw) const;
    void begin(std::uint32_t raw);
    void close_old(std::uint64_t passed, bool finishing);
    void check() const;

    // jumps.cc
    bool place_in_candidate(std::size_t stream, felix::Packet const& packet, PacketKey const& key);
    void propose_jump(std::uint64_t event);
    void look_at_candidate(bool finishing);
    void accept_candidate();
    void reject_candidate();
    void discard(OpenStretch const& stretch);
    // Returns where the next stretch begins: it has room for packets before the first one that comes.
    std::uint64_t next_position() const {
        return current_.newest_position() + 2 * context_.options.index.window_events + 1;
    }

    GroupContext& context_;
    GroupStreams& streams_;
    FragmentWriter& writer_;
    EventCloser& closer_;
    RingRoom const& room_;
    EventNumbers numbers_;
    OpenStretch current_;
    std::optional<OpenStretch> old_;
    std::optional<JumpCandidate> candidate_;
    bool begun_ = false;
    std::uint64_t jumped_ns_ = 0;
    std::uint64_t left_from_ = ~0ull; // an event
    base::SharedNumber jumps_;
};

} // namespace thalweg::readout
