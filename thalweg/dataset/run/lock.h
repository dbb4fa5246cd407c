// Locks on the journal (flock): every participant of an open run holds a shared one, `recover` needs it alone.
#pragma once

#include <string>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::dataset {

// Throws base::SystemError where somebody holds it exclusively.
base::FileDescriptor lock_shared(std::string const& journal);

// Throws base::UsageError where a participant of the run is alive.
base::FileDescriptor lock_exclusive(std::string const& journal);

} // namespace thalweg::dataset
