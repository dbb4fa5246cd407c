// Means over the vectors of a trace, and their errors.
#pragma once

#include <span>
#include <vector>

#include "trace.h"

namespace quantum_hall {

struct Estimate {
    std::vector<double> value;
    std::vector<double> error; // standard error of the mean; empty where there is none to tell
};

// `samples`: what each vector gave, vector by vector, `length` numbers each. The estimate of the trace.
Estimate estimate(Trace const& trace, System const& system, std::span<double const> samples, std::size_t length);

} // namespace quantum_hall
