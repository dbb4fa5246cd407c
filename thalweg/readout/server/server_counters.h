// What one thread of a server counts; readable by any other.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "thalweg/base/shared_number.h"

namespace thalweg::readout {

struct ServerCounters {
    static constexpr std::size_t kBuckets = 40; // bucket i: below 2^i ns

    base::SharedNumber takes, gets, clears;             // requests
    std::array<base::SharedNumber, 7> refusals;         // by Refusal
    std::array<base::SharedNumber, 6> events;           // answered, by EventState
    base::SharedNumber fragments;                       // answered
    base::SharedNumber bytes;                           // sent
    base::SharedNumber responses;                       // of events
    base::SharedNumber connections;                     // now
    base::SharedNumber pending;                         // requests, now
    base::SharedNumber queued_bytes;                    // now
    base::SharedNumber waits;                           // connections whose requests had to wait for queued bytes
    base::SharedNumber accepted;                        // connections
    base::SharedNumber silent;                          // that had to go before they had said hello: others came
    base::SharedNumber stalled;                         // that had to go because they took nothing, and room was short
    base::SharedNumber accept_failures;                 // the machine was out of something
    base::SharedNumber broken;                          // connections that ended in mid-answer, or by an error
    base::SharedNumber skipped;                         // events that nobody asked for
    std::array<base::SharedNumber, kBuckets> latencies; // from a request to its answer
    base::SharedNumber latency_ns;                      // their sum

    void add_latency(std::uint64_t ns) {
        latencies[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(ns)), kBuckets - 1)].add(1);
        latency_ns.add(ns);
    }
};

} // namespace thalweg::readout
