#pragma once

#include <memory>
#include <string>

#include "thalweg/dataset/open_run.h"

namespace thalweg::dataset {

// Opens, for writing by this process, a run that another process (or this one) created. `handle` is the ledger's name.
// Throws base::UsageError where the run is gone, closed, or on another machine.
std::shared_ptr<OpenRun> attach(std::string const& handle, WriteOptions const& options = {});

} // namespace thalweg::dataset
