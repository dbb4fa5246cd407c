// Where threads of a measurement run, and how they wait.
#pragma once

#include <string>

namespace thalweg::study {

struct Processors {
    std::string producer; // a number; empty: anywhere
    std::string consumer;
};

// The calling thread. Empty: does nothing.
void pin(std::string const& processor);

// As long as Thalweg's threads sleep when they find nothing to do: 30 us.
void nap();

} // namespace thalweg::study
