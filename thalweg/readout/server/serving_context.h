// What the sessions of one thread work with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "thalweg/readout/config.h"
#include "thalweg/readout/server/byte_buffer.h"
#include "thalweg/readout/server/connection_quota.h"
#include "thalweg/readout/server/index.h"
#include "thalweg/readout/server/pending_requests.h"
#include "thalweg/readout/server/server.h"
#include "thalweg/readout/server/server_counters.h"

namespace thalweg::readout {

// What a server serves: the running or the last run.
struct ServedRun {
    std::uint32_t run = 0; // 0: none yet, or it is forgotten
    Index* index = nullptr;
    std::uint32_t groups = 0;
    std::uint32_t max_fragment_bytes = 0;
    bool continues = false; // the numbers of whoever read the buffer before
    State state = State::initial;
    bool ended = false;   // nothing more will be closed
    bool drained = false; // and nobody waits for those who have not cleared what they hold
};

struct ServingContext {
    ServerConfig const& config;
    std::shared_ptr<ConnectionQuota> quota = std::make_shared<ConnectionQuota>(config);
    std::uint64_t instance = 0;
    std::string name;         // of the handler
    std::size_t pin = 0;      // EventRing::Pin's thread
    std::uint64_t now_ns = 0; // of the last look at the clock
    ServedRun served = {};
    PendingRequests pending = {};              // of collectors
    PendingRequests pending_of_observers = {}; // theirs
    BufferPool pool = {};
    Index::Pieces pieces = {};
    ServerCounters counters = {};
};

} // namespace thalweg::readout
