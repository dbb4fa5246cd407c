// The place of a new run: what is there before, and what is left of a creation that fails.
#pragma once

#include <string>

#include "thalweg/dataset/run/open_run.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {

// Makes room for a new run at `path`. Throws base::UsageError if something is there that may not be removed.
void clear_place(std::string const& path, bool force);

// Removes what a creation that failed has left: there is nothing in it to recover. If other nodes have begun to write,
// they are told `why`, and all stays.
void remove_traces(OpenRun const& run, RunPlace const& place, std::string const& why);

} // namespace thalweg::dataset
