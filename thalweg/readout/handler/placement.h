// The same as resolve_pinning, thread by thread and of any machine: to be shown to people.
#pragma once

#include <vector>

#include "thalweg/machine/pinning.h"
#include "thalweg/machine/topology.h"
#include "thalweg/readout/config.h"

namespace thalweg::readout {

// Of all handlers of one file; nothing is said of processors to threads that may run anywhere.
machine::Plan place(std::vector<HandlerConfig> handlers, machine::Topology const& topology);

} // namespace thalweg::readout
