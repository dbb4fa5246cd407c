// A run that goes on from file to file: what is in all of them.
#pragma once

#include <string>
#include <vector>

#include "tests/simulator/promises.h"

namespace thalweg::simulator {

// Number 0 has the name of the run itself.
std::string path_of_file(std::string const& first, std::size_t number);

// A producer goes from file to file, so the rows of the first come first; and so do units that are ordered.
Found together(std::vector<Found> files);

// Files that were complete have what they had then.
void check_complete_files(std::vector<FilePromise> const& files, std::vector<Found> const& found, Blame const& blame);

} // namespace thalweg::simulator
