#pragma once

#include <memory>
#include <optional>
#include <string>

#include "thalweg/dataset/run/open_run.h"

namespace thalweg::dataset {

// Opens, for writing by this process, a run that another process (or this one) created. `handle` is the ledger's name.
// It is written as its creator wants it, but for `seal_threads` (per producer, for encoding; 0: the thread that
// appends; none: as the creator says). Throws base::UsageError where the run is gone, closed, or on another machine.
std::shared_ptr<OpenRun> attach(std::string const& handle, std::optional<unsigned> seal_threads = {});

} // namespace thalweg::dataset
