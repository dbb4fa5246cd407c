// What an emulated card does wrong on request, drawn from its seed: the same seed, the same faults.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace thalweg::felix {

// Probabilities, of a packet unless said otherwise. A packet gets one fault at most: the first of this list that its
// draw hits.
struct FaultOptions {
    double missing = 0;       // never sent
    double late = 0;          // sent `late_events` later
    double duplicated = 0;    // sent twice
    double swapped = 0;       // changes places with the next of its link
    double truncated = 0;     // cut, with the truncation and error bits
    double crc = 0;           // flag, and a flipped byte
    double error = 0;         // flag
    double busy = 0;          // flag
    double lost_block = 0;    // of a block: not written, but its sequence number is used up
    double lost_lap = 0;      // of a block: 32 blocks lost, which no reader can tell
    double garbage_block = 0; // of a block: random bytes behind its header
    double dead_link = 0;     // of an event: one link falls silent for `dead_events`
    double stuck_pointer = 0; // of an event: the write pointer shows nonsense, or nothing new, for `stuck_ns`
    std::uint32_t late_events = 2000;
    std::uint32_t dead_events = 20'000;
    std::uint64_t stuck_ns = 20'000'000;

    bool any() const;
};

// "missing=1e-4,crc=1e-5,dead_link=1e-6"; "all=1e-4" sets every probability. Throws base::UsageError that lists them.
FaultOptions parse_faults(std::string_view text);

// How often each was done, in the same words; packets that were lost with a block are counted, too.
struct FaultTally {
    std::uint64_t missing = 0;
    std::uint64_t late = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t swapped = 0;
    std::uint64_t truncated = 0;
    std::uint64_t crc = 0;
    std::uint64_t error = 0;
    std::uint64_t busy = 0;
    std::uint64_t lost_blocks = 0;
    std::uint64_t garbage_blocks = 0;
    std::uint64_t dead_times = 0;
    std::uint64_t packets_in_lost_blocks = 0; // whole or in part, garbage blocks included
    std::uint64_t undetectable = 0;           // of these, in gaps of 32 blocks: nothing shows that they are missing
};

} // namespace thalweg::felix
