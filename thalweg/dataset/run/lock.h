// Locks on the journal (flock): every participant of an open run holds a shared one, `recover` needs it alone.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::dataset {

// Throws base::UsageError if another process holds it exclusively.
base::FileDescriptor lock_shared(std::string const& journal);

// What the descriptor of an exclusive lock is good for besides the lock.
enum class LockFor : std::uint8_t { nothing, writing };

// Returns an empty descriptor if a participant of the run is alive, or another process recovers it.
base::FileDescriptor try_lock_exclusive(std::string const& journal);

// The same, but it waits a second for processes that are ending, and throws base::UsageError then.
base::FileDescriptor lock_exclusive(std::string const& journal, LockFor purpose = LockFor::nothing);

} // namespace thalweg::dataset
