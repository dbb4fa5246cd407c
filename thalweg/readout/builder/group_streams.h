// The streams of a group: how far each one is, which of them live, and where their packets went.
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

// Late packets are of a link that lags behind, or of numbers that began anew: then many come in a row, while the newest
// event stands still.
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
    std::uint64_t since_ = 0; // position
};

struct GroupStream {
    explicit GroupStream(felix::BlockFormat const& format) : decoder(format, kMaxPayloadBytes) {}

    felix::StreamDecoder decoder;
    PacketCounters counters;
    std::uint16_t elink = 0;
    bool enabled = true;
    bool out_of_step = false;    // it jumped alone: it may not propose a jump until it is back
    std::uint64_t progress = 0;  // position of its newest packet, plus 1; 0: none yet
    std::uint64_t first = ~0ull; // position of its first one
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
    // Of these somebody waits for packets: one has come, and since then it was not silent for long.
    std::uint64_t live_map() const { return live_map_; }
    std::uint64_t last_packet_ns() const { return last_packet_ns_; }

    // Packets came, of whatever event.
    void note_packets(GroupStream& stream) { stream.last_packet_ns = last_packet_ns_ = context_.now_ns; }
    // Some of them are in fragments now: the last one just before the position `progress`.
    void note_delivery(std::size_t index, std::uint64_t progress);
    // A link is dead when it is silent while others go on; then nobody waits for it. `newest_event`: of the others.
    void look_for_dead(OpenStretch const& newest, std::uint64_t newest_event);
    // Another card.
    void restart();

    // Every live stream is so far that packets before this position will not come any more.
    std::uint64_t passed_position() const;
    // Status bits of an event in which these streams are missing.
    std::uint32_t why_missing(std::uint64_t missing_map, std::uint64_t position) const;

    std::vector<StreamReport> report() const;
    // Every packet of the stream is counted where it went, but for these.
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
