#pragma once

#include <string>
#include <vector>

#include "thalweg/trace/sample.h"

namespace thalweg::monitor {

// Returns Prometheus' text format, version 0.0.4: families in the order in which they come, HELP and TYPE once each.
std::string prometheus_text(std::vector<trace::Sample> const& samples);

} // namespace thalweg::monitor
