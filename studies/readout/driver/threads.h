// Chooses where the threads of a measurement run, and how they wait.
#pragma once

#include <string>

namespace thalweg::study {

struct Processors {
    std::string producer; // a number; empty: anywhere
    std::string consumer;
};

// Pins the calling thread. Does nothing if the text is empty.
void pin(std::string const& processor);

// Sleeps as long as Thalweg's threads do if they find nothing: 30 us.
void nap();

} // namespace thalweg::study
