// A handler as the client knows it, and the connections to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/readout/client/client_link.h"
#include "thalweg/readout/client/pending_clears.h"
#include "thalweg/readout/protocol.h"

namespace thalweg::readout {

struct HandlerConnection {
    ClientLink link;
    std::size_t handler;
    bool was_up = false;
    std::string token = {}; // for its next hello

    bool is_ready() const { return link.phase() == ClientLink::Phase::ready; }
    // Returns whether it is connecting, or not greeted yet.
    bool is_coming() const {
        return link.phase() == ClientLink::Phase::connecting || link.phase() == ClientLink::Phase::greeting;
    }
};

struct RemoteHandler {
    std::string address;
    std::uint64_t refused_since_ns = 0; // it refuses the client since then; 0: it does not
    std::vector<HandlerConnection*> connections;
    Welcome welcome;                        // instance 0: never met
    std::uint64_t away_since_ns = 0;        // 0: it is here
    std::size_t coming = 0;                 // connections that are not greeted yet
    double event_bytes = 0;                 // estimated size of its share of an event, rather too large
    std::uint32_t run = 0;                  // the run of which it has sent events
    std::uint64_t without_run_since_ns = 0; // it refuses the run of the request since then; 0: it does not
    std::uint32_t other_run = 0;            // that it named when it refused the run of a request; 0: it never did
    std::uint32_t given_up_in_run = 0;      // the same, when ranges went on without it; 0: they never did for that
    std::uint64_t next_ask_ns = 0;
    std::uint64_t over_since_ns = 0; // its run has been over since then; 0: it goes on, as far as is known
    PendingClears clears;
    std::uint64_t anew_until = 0; // it was restarted, and knows nothing of this client's ranges before this event
    bool takes_lost = false;      // a connection was lost: there may be ranges that this client owns and does not know
    // These are for handlers that do not give ranges away: events that they have and no client asks for.
    bool asks_for_rest = false; // a take is on its way
    bool has_no_rest = false;   // it said so at the end, or serves another run
    std::uint64_t next_rest_ns = 0;

    // Returns the connection for takes and clears, which keeps their order.
    HandlerConnection& first_connection() const { return *connections[0]; }
    bool is_ready() const { return first_connection().is_ready(); }
    bool is_away() const { return away_since_ns != 0 && !is_ready(); }
    // Returns how many bytes to ask for `count` events: what they needed lately, always enough for one event, and at
    // most `share`.
    std::uint64_t bytes_to_ask(std::uint64_t count, std::uint64_t share) const;
};

} // namespace thalweg::readout
