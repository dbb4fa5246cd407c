// Converts the counters of a server's threads into samples for monitoring.
#pragma once

#include <vector>

#include "thalweg/readout/server/server_counters.h"
#include "thalweg/trace/sample.h"

namespace thalweg::readout {

std::vector<trace::Sample> samples_of(std::vector<ServerCounters const*> const& threads);

} // namespace thalweg::readout
