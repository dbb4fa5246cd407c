// The streams of a group: the progress of each stream, which streams are live, and where their packets went.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "thalweg/base/shared_number.h"
#include "thalweg/felix/decoder.h"
#include "thalweg/readout/builder/group_options.h"
#include "thalweg/readout/builder/group_report.h"
#include "thalweg/readout/builder/open_stretch.h"

namespace thalweg::readout {

// Counts late packets in a row. A link that lags behind sends some. If event numbers began again, many come in a row
// while the newest event stands still.
class LateStreak {
  public:
    bool is_longer(std::uint64_t most, std::uint64_t newest_position) {
        if (packets_++ == 0 || since_ != newest_position) {
            packets_ = 1;
            since_ = newest_position;
        }
        return packets_ > most;
    }
    void end() { packets_ = 0; }

  private:
    std::uint64_t packets_ = 0;
    std::uint64_t since_ = 0; // a position
};

struct GroupStream {
    explicit GroupStream(felix::BlockFormat const& format) : decoder(format, kMaxPayloadBytes) {}

    felix::StreamDecoder decoder;
    PacketCounters counters;
    std::uint16_t elink = 0;
    bool enabled = true;
    bool out_of_step = false;    // it jumped alone, and may not propose a jump until it has returned
    std::uint64_t progress = 0;  // position of its newest packet, plus 1; 0: no packet yet
    std::uint64_t first = ~0ull; // position of its first packet
    std::uint64_t last_packet_ns = 0;
    LateStreak late;
    base::SharedNumber live;
    base::SharedNumber deaths;
};

class GroupStreams {
  public:
    explicit GroupStreams(GroupContext const& context);

    std::size_t size() const { return streams_.size(); }
    GroupStream& operator[](std::size_t index) { return *streams_[index]; }
    std::uint64_t enabled_map() const { return enabled_map_; }
    // Returns the streams for whose packets events wait: a packet came, and the stream was not silent for long since
    // then.
    std::uint64_t live_map() const { return live_map_; }
    std::uint64_t last_packet_ns() const { return last_packet_ns_; }

    // Notes that packets came, of any event.
    void note_packets(GroupStream& stream) { stream.last_packet_ns = last_packet_ns_ = context_.now_ns; }
    // Notes that some of them are in fragments now. The last one lies just before the position `progress`.
    void note_delivery(std::size_t index, std::uint64_t progress);
    // Marks silent links as dead while others go on; events no longer wait for a dead link. `newest_event` is that of
    // the other groups.
    void look_for_dead(OpenStretch const& newest, std::uint64_t newest_event);
    // Begins again with another card.
    void restart();

    // Returns a position before which no live stream will send packets any more.
    std::uint64_t passed_position() const;
    // Returns whether every enabled stream goes on, and its newest packet is at most `most_behind` events behind this
    // position. A stream that is silent is dead as soon as others go on.
    bool are_together(std::uint64_t newest_position, std::uint64_t most_behind) const;
    // Returns the status bits of an event that lacks these streams.
    std::uint32_t why_missing(std::uint64_t missing_map, std::uint64_t position) const;

    std::vector<StreamReport> report() const;
    // Returns whether every packet of the stream is counted, except the `undecided` ones.
    bool balances(std::size_t index, std::uint64_t undecided) const;

  private:
    GroupContext const& context_;
    std::vector<std::unique_ptr<GroupStream>> streams_;
    std::uint64_t enabled_map_ = 0;
    std::uint64_t live_map_ = 0;
    std::uint64_t next_look_ns_ = 0;
    std::uint64_t last_packet_ns_ = 0;
};

} // namespace thalweg::readout
