// The counters of one thread of a server, which any thread may read.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "thalweg/base/shared_number.h"

namespace thalweg::readout {

struct ServerCounters {
    static constexpr std::size_t kBuckets = 40; // bucket i counts what took less than 2^i ns

    base::SharedNumber takes, gets, clears;     // requests
    std::array<base::SharedNumber, 7> refusals; // by Refusal
    std::array<base::SharedNumber, 6> events;   // in answers, by EventState
    base::SharedNumber fragments;               // in answers
    base::SharedNumber bytes;                   // sent bytes
    base::SharedNumber memory_bytes;            // of answers in memory that is shared with their clients
    base::SharedNumber memory_full;             // answers that went over the socket, because such memory was full
    base::SharedNumber memory_missing;          // clients that were to get memory, and there was none
    base::SharedNumber responses;               // answers that hold events
    base::SharedNumber connections;             // current number
    base::SharedNumber pending;                 // current number of requests
    base::SharedNumber queued_bytes;            // current number
    base::SharedNumber waits;                   // connections whose requests waited because too much was queued
    base::SharedNumber accepted;                // accepted connections
    base::SharedNumber silent;                  // connections that were closed before their hello because others came
    base::SharedNumber stalled; // connections that were closed because their client took nothing and memory was short
    base::SharedNumber accept_failures;                 // the machine ran out of a resource
    base::SharedNumber broken;                          // connections that ended during an answer, or by an error
    base::SharedNumber skipped;                         // events that no client asked for
    std::array<base::SharedNumber, kBuckets> latencies; // from a request to its answer
    base::SharedNumber latency_ns;                      // their sum

    void add_latency(std::uint64_t ns) {
        latencies[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(ns)), kBuckets - 1)].add(1);
        latency_ns.add(ns);
    }
};

} // namespace thalweg::readout
