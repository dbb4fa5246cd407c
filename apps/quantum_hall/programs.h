// The programs of the command.
#pragma once

#include "options.h"

namespace quantum_hall {

void run_dos(Options const& options);     // density of states
void run_moments(Options const& options); // moments, and double moments if asked for
void run_hall(Options const& options);
void run_evolve(Options const& options);
void run_exact(Options const& options);

} // namespace quantum_hall
