// What one thread of a server counts; readable by any other.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "thalweg/base/gauge.h"

namespace thalweg::readout {

struct ServerCounters {
    static constexpr std::size_t kBuckets = 40; // bucket i: below 2^i ns

    base::Gauge takes, gets, clears;             // requests
    std::array<base::Gauge, 7> refusals;         // by Refusal
    std::array<base::Gauge, 6> events;           // answered, by EventState
    base::Gauge fragments;                       // answered
    base::Gauge bytes;                           // sent
    base::Gauge responses;                       // of events
    base::Gauge connections;                     // now
    base::Gauge parked;                          // requests, now
    base::Gauge queued_bytes;                    // now
    base::Gauge waits;                           // connections whose requests had to wait for queued bytes
    base::Gauge accepted;                        // connections
    base::Gauge silent;                          // that had to go before they had said hello: others came
    base::Gauge stalled;                         // that had to go because they took nothing, and room was short
    base::Gauge accept_failures;                 // the machine was out of something
    base::Gauge broken;                          // connections that ended in mid-answer, or by an error
    base::Gauge skipped;                         // events that nobody asked for
    std::array<base::Gauge, kBuckets> latencies; // from a request to its answer
    base::Gauge latency_ns;                      // their sum

    void add_latency(std::uint64_t ns) {
        latencies[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(ns)), kBuckets - 1)].add(1);
        latency_ns.add(ns);
    }
};

} // namespace thalweg::readout
