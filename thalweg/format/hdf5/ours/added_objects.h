// Finds what other programs have added to a file of ours.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "thalweg/format/hdf5/handles.h"
#include "thalweg/model/run.h"

namespace thalweg::format::hdf5::ours {

// Returns all datasets but those in `known`, by path, and those of /thalweg. The run's own record knows nothing of
// them.
std::vector<model::LeftOut> added_objects(FileHandle const& file, std::set<std::string> const& known);

} // namespace thalweg::format::hdf5::ours
