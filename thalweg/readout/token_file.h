// The file with the secret that clients share.
#pragma once

#include <string>

namespace thalweg::readout {

// Returns the first line of the file; empty if it is empty, or if the file cannot be read.
std::string token_in(std::string const& path);

} // namespace thalweg::readout
