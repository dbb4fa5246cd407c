// Which processors the threads of handlers get.
#pragma once

#include <string>
#include <vector>

#include "thalweg/machine/pinning.h"
#include "thalweg/readout/config.h"

namespace thalweg::readout {

// The threads of one handler by role: "build", "serve".
machine::Demand demand_of(HandlerConfig const& config);

// Fills in build_processors and serve_processors. Handlers that say "auto" are planned together: each gets a chiplet.
// Returns what does not fit. Throws base::UsageError where a handler asks for processors that are not there.
std::vector<std::string> resolve_pinning(std::vector<HandlerConfig>& handlers, machine::Topology const& topology);

} // namespace thalweg::readout
