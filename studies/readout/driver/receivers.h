// Clients that request responses of a known size, read them and drop them.
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
};

// Runs until the stop sign; {"responses": ..., "cpu_ns": ...}: the CPU time of its thread from the first request on.
Json receive_and_drop(ReceiverOptions const& options, StopSign const& stop);

} // namespace thalweg::study
