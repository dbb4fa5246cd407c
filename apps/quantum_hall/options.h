// The options of the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lattice.h"
#include "trace.h"

namespace quantum_hall {

struct Options {
    std::string program; // dos, moments, hall, evolve or exact
    System system;
    Trace trace;
    std::size_t moments = 256;
    std::size_t double_moments = 0;
    std::vector<double> energies;
    double time_step = 1;
    std::size_t steps = 10;
    bool print_states = false;
    bool bloch = false;
    std::string out; // a file for the results
    std::string checkpoint;
    double checkpoint_every_s = 1e300;
    double wall_time_s = 1e300;
    bool continues = false;
};

// Throws thalweg::base::UsageError. Returns nothing if help was requested.
std::optional<Options> parse_options(std::vector<std::string> const& words);
std::string help();

} // namespace quantum_hall
