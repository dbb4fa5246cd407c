// The programs of the command. They return false if they are not finished, have reported that, and can be continued
// from a checkpoint.
#pragma once

#include "options.h"

namespace quantum_hall {

bool run_dos(Options const& options);     // density of states
bool run_moments(Options const& options); // moments, and double moments if asked for
bool run_hall(Options const& options);
bool run_evolve(Options const& options);
bool run_exact(Options const& options);

} // namespace quantum_hall
