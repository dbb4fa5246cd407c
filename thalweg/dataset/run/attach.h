#pragma once

#include <memory>
#include <optional>
#include <string>

#include "thalweg/dataset/run/open_run.h"

namespace thalweg::dataset {

// Opens, for writing by this process, a run that another process (or this one) created. `handle` is the ledger's name.
// It is written as its creator wants it, except for `seal_threads` (per producer, for encoding; 0: the thread that
// appends; none: as the creator says). `while_waiting`: see OpenRun. Throws base::UsageError if the run is gone,
// closed, or on another machine.
std::shared_ptr<OpenRun> attach(std::string const& handle, std::optional<unsigned> seal_threads = {},
                                std::function<void()> while_waiting = {});

// Opens the file in which this run goes on (rotation), to be written as this process writes this one.
std::shared_ptr<OpenRun> attach_next(OpenRun const& run);

} // namespace thalweg::dataset
