// The counters of a server's threads as monitoring sees them.
#pragma once

#include <vector>

#include "thalweg/readout/server/server_counters.h"
#include "thalweg/trace/sample.h"

namespace thalweg::readout {

std::vector<trace::Sample> samples_of(std::vector<ServerCounters const*> const& threads);

} // namespace thalweg::readout
