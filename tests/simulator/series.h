// A run that goes on from file to file, and the content of all files together.
#pragma once

#include <string>
#include <vector>

#include "tests/simulator/promises.h"

namespace thalweg::simulator {

// Number 0 has the name of the run itself.
std::string path_of_file(std::string const& first, std::size_t number);

// A producer goes from file to file, so the rows of the first file come first; the same holds for ordered units.
Found together(std::vector<Found> files);

// Files that were complete must have what they had then.
void check_complete_files(std::vector<FilePromise> const& files, std::vector<Found> const& found, Blame const& blame);

} // namespace thalweg::simulator
