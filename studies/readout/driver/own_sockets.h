// What the kernel says of the TCP connections of this process: whether settings have reached them, and what was lost.
#pragma once

#include <cstdint>

#include "studies/driver/subcommands.h"

namespace thalweg::study {

struct OwnSockets {
    std::uint64_t connected = 0;       // those with a client or a handler at their other end
    std::uint64_t retransmissions = 0; // segments that were sent again
    std::uint64_t least_timer_us = 0;  // the shortest retransmission timer
    std::uint64_t least_pacing_bytes_s = 0, most_pacing_bytes_s = 0; // ~0: none is set
};

OwnSockets look_at_own_sockets();
Json json_of(OwnSockets const& sockets);

// Allows as many open files as the machine allows this user.
void allow_many_files();

} // namespace thalweg::study
