// The sessions of one thread share this context.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "thalweg/base/shared_number.h"
#include "thalweg/readout/config.h"
#include "thalweg/readout/server/byte_buffer.h"
#include "thalweg/readout/server/connection_quota.h"
#include "thalweg/readout/server/index.h"
#include "thalweg/readout/server/pending_requests.h"
#include "thalweg/readout/server/server.h"
#include "thalweg/readout/server/server_counters.h"

namespace thalweg::readout {

// The run that a server serves: the current or the last one.
struct ServedRun {
    std::uint32_t run = 0; // 0: none yet, or it is forgotten
    Index* index = nullptr;
    std::uint32_t groups = 0;
    std::uint32_t max_fragment_bytes = 0;
    bool continues = false; // the numbers continue those of the previous reader of the buffer
    ReadoutState state = ReadoutState::initial;
    bool ended = false;   // nothing more will be closed
    bool drained = false; // and no client waits for others to clear what they hold
};

struct ServingContext {
    ServerConfig const& config;
    std::shared_ptr<ConnectionQuota> quota = std::make_shared<ConnectionQuota>(config);
    std::uint64_t instance = 0;
    std::string name;         // the handler's name
    std::size_t pin = 0;      // the thread number for EventRing::Pin
    std::uint64_t now_ns = 0; // time of the last clock reading
    ServedRun served = {};
    PendingRequests pending = {};              // requests of collectors
    PendingRequests pending_of_observers = {}; // requests of observers
    BufferPool pool = {};
    Index::Pieces pieces = {};
    ServerCounters counters = {};
    base::SharedNumber uninformed = {}; // collectors that asked for events and do not know that the run has ended
};

} // namespace thalweg::readout
