// The place of a new run: what is there before, and what is left of a creation that fails.
#pragma once

#include <string>

#include "thalweg/dataset/run/open_run.h"

namespace thalweg::dataset {

// Makes room for a new run at `path`. Throws base::UsageError where something is there that may not be removed.
void clear_place(std::string const& path, bool force);

// Of a creation that failed: there is nothing in it to recover.
void remove_traces(OpenRun const& run, std::string const& path);

} // namespace thalweg::dataset
