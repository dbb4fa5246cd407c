// The faults that an emulated card makes on request. The seed decides: the same seed gives the same faults.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace thalweg::felix {

// Probabilities per packet, unless the comment names a block or an event. A packet gets at most one fault: the first
// one in this list that its draw hits.
struct FaultOptions {
    double missing = 0;       // never sent
    double late = 0;          // sent `late_events` later
    double duplicated = 0;    // sent twice
    double swapped = 0;       // swapped with the next packet of its link
    double truncated = 0;     // cut, with the truncation and error bits
    double crc = 0;           // flag set, and one byte flipped
    double error = 0;         // flag set
    double busy = 0;          // flag set
    double lost_block = 0;    // per block: not written, but its sequence number is used
    double lost_lap = 0;      // per block: 32 blocks are lost, which no reader can notice
    double garbage_block = 0; // per block: random bytes behind its header
    double dead_link = 0;     // per event: one link is silent for `dead_events`
    double stuck_pointer = 0; // per event: the write pointer shows nonsense, or does not move, for `stuck_ns`
    std::uint32_t late_events = 2000;
    std::uint32_t dead_events = 20'000;
    std::uint64_t stuck_ns = 20'000'000;

    bool any() const;
};

// Parses "missing=1e-4,crc=1e-5,dead_link=1e-6"; "all=1e-4" sets every probability. Throws base::UsageError, which
// lists the names.
FaultOptions parse_faults(std::string_view text);

// How often each fault was made, by the same names; packets that were lost with a block are counted, too.
struct FaultTally {
    std::uint64_t missing = 0, late = 0, duplicated = 0, swapped = 0;
    std::uint64_t truncated = 0, crc = 0, error = 0, busy = 0;
    std::uint64_t lost_blocks = 0, garbage_blocks = 0, dead_times = 0;
    std::uint64_t packets_in_lost_blocks = 0; // completely or partly, including garbage blocks
    std::uint64_t undetectable = 0;           // those of them in gaps of 32 blocks, which no reader can notice
};

} // namespace thalweg::felix
