// The counters of a group.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/base/shared_number.h"

namespace thalweg::readout {

// Counts where the packets of one stream went. Every packet is counted in one member.
struct PacketCounters {
    base::SharedNumber delivered;
    base::SharedNumber duplicate;
    base::SharedNumber late;          // packets of a closed event
    base::SharedNumber out_of_window; // packets of an event that is too far away
    // Packets without trigger information, or of a jump that the other streams did not make.
    base::SharedNumber orphaned;
    base::SharedNumber left; // packets behind the end of the run: the next reader of the buffer takes them
};

struct StreamReport {
    std::uint16_t elink = 0;
    bool enabled = true;
    bool live = false;
    std::uint64_t deaths = 0; // how often the stream ceased to be live
    std::uint64_t packets = 0, payload_bytes = 0;
    std::uint64_t delivered = 0, duplicate = 0, late = 0, out_of_window = 0, orphaned = 0, left = 0;
    std::uint64_t blocks = 0, sequence_gaps = 0, lost_blocks = 0, bad_blocks = 0, dropped_chunks = 0;
    std::uint64_t crc_errors = 0, errors = 0, truncated = 0, busy = 0, timeouts = 0, undefined = 0;

    bool balances() const { return packets == delivered + duplicate + late + out_of_window + orphaned + left; }
};

struct GroupReport {
    std::uint32_t source_id = 0;
    std::uint64_t complete = 0, incomplete = 0, absent = 0;
    // Invariant R4: the end of the complete and the incomplete events. `kept`: they wait for collectors while the run
    // goes on; `discarded`: no collector asked for them.
    std::uint64_t cleared = 0, evicted = 0, skipped = 0, kept = 0, discarded = 0;
    std::uint64_t overflows = 0, timed_out = 0, jumps = 0, hook_failures = 0, hook_overruns = 0;
    std::uint64_t newest_event = 0;
    std::uint64_t open_events = 0;
    double fill = 0; // used share of its ring, 0 to 1
    std::vector<StreamReport> streams;

    std::uint64_t built() const { return complete + incomplete; }
    // Holds at the end of a run. While it goes on, a fragment may be between two counters.
    bool balances() const { return built() == cleared + evicted + skipped + kept + discarded; }
};

} // namespace thalweg::readout
