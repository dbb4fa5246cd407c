// Assigns processors to the threads of handlers.
#pragma once

#include <string>
#include <vector>

#include "thalweg/machine/pinning.h"
#include "thalweg/readout/config.h"

namespace thalweg::readout {

// Returns the threads of one handler by role: "build", "serve".
machine::Demand demand_of(HandlerConfig const& config);

// Fills in build_processors and serve_processors. Handlers with "auto" are planned together: each gets a chiplet.
// Returns what does not fit. Throws base::UsageError if a handler asks for processors that do not exist.
std::vector<std::string> resolve_pinning(std::vector<HandlerConfig>& handlers, machine::Topology const& topology);

// Like resolve_pinning(), for a process that runs the handler `own` alone. If the process was given a part of the
// machine that has fewer chiplets than there are handlers with "auto", that part is for this handler, and the others
// are not planned on it (docs/decisions/0128).
std::vector<std::string> resolve_own_pinning(std::vector<HandlerConfig>& handlers, std::string const& own,
                                             machine::Topology const& topology);

} // namespace thalweg::readout
