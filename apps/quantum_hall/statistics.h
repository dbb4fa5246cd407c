// Computes means over the vectors of a trace, and their errors.
#pragma once

#include <span>
#include <vector>

#include "trace.h"

namespace quantum_hall {

struct Estimate {
    std::vector<double> value;
    std::vector<double> error; // standard error of the mean; empty if it is unknown
};

// Estimates the trace. `samples` holds `length` numbers for each vector, vector by vector.
Estimate estimate(Trace const& trace, System const& system, std::span<double const> samples, std::size_t length);

} // namespace quantum_hall
