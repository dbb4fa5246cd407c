// Computes the same as resolve_pinning, thread by thread and for any machine, to show it to users.
#pragma once

#include <vector>

#include "thalweg/machine/pinning.h"
#include "thalweg/machine/topology.h"
#include "thalweg/readout/config.h"

namespace thalweg::readout {

// Plans all handlers of one file. Threads that may run anywhere get no processors.
machine::Plan place(std::vector<HandlerConfig> handlers, machine::Topology const& topology);

} // namespace thalweg::readout
