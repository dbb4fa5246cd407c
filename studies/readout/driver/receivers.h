// Clients that request responses of a known size, read them and drop them. From memory they read a word of each cache
// line.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "studies/readout/driver/child.h"
#include "thalweg/transport/address.h"

namespace thalweg::study {

struct ReceiverOptions {
    transport::Address server;
    std::size_t connections = 1;
    std::size_t in_flight = 32; // requests over all connections in turn; at most one on each
    std::size_t response_bytes = 0;
    std::vector<std::byte> greeting;                                   // sent first on each connection; empty: none
    std::size_t welcome_bytes = 0;                                     // size of the answer to it
    std::function<std::vector<std::byte>(std::size_t number)> request; // makes the next request
    // Memory for the answers on each connection to a server on this host; 0: they come over the socket.
    std::uint64_t memory_bytes = 0;
};

// Runs until the stop sign; {"responses": ..., "cpu_ns": ...}: the CPU time of its thread from the first request on.
Json receive_and_drop(ReceiverOptions const& options, StopSign const& stop);

} // namespace thalweg::study
