// One of the handlers that a client collects from, as the client knows it, and the connections to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/readout/client/client_link.h"
#include "thalweg/readout/client/pending_clears.h"
#include "thalweg/readout/protocol.h"

namespace thalweg::readout {

struct Connection {
    Link link;
    std::size_t handler;
    bool was_up = false;

    bool is_ready() const { return link.phase() == Link::Phase::ready; }
    // It is on its way, and not greeted yet.
    bool is_coming() const { return link.phase() == Link::Phase::connecting || link.phase() == Link::Phase::greeting; }
};

struct RemoteHandler {
    std::string address;
    std::vector<Connection*> connections;
    Welcome welcome;                        // instance 0: never met
    std::uint64_t away_since_ns = 0;        // 0: it is here
    std::size_t coming = 0;                 // connections that are not greeted yet
    double event_bytes = 0;                 // of its share of an event, about, and rather more
    std::uint32_t run = 0;                  // of which it has sent events
    std::uint64_t without_run_since_ns = 0; // it refuses the run of which it is asked; 0: it does not
    std::uint64_t next_ask_ns = 0;
    PendingClears clears;
    std::uint64_t anew_until = 0; // it knows nothing of our ranges of events before: it was started anew
    bool takes_lost = false;      // with a connection: ranges may be ours that we do not know of
    // Of handlers that do not give ranges away: what they have that nobody asks for.
    bool asks_for_rest = false; // a take is under way
    bool has_no_rest = false;   // it said so at the end, or serves another run
    std::uint64_t next_rest_ns = 0;

    // Takes and clears go over the first one, in order.
    Connection& first_connection() const { return *connections[0]; }
    bool is_ready() const { return first_connection().is_ready(); }
    // A part of a range that has `count` events: as much as it takes by what was seen lately, always enough for one
    // event, and no more than `share`.
    std::uint64_t bytes_to_ask(std::uint64_t count, std::uint64_t share) const;
};

} // namespace thalweg::readout
