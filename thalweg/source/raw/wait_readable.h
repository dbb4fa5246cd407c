#pragma once

#include <cstdint>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::source::raw {

// Waits until there is something to read, an end or an error, until `deadline_ns` of base::monotonic_ns() at most, or
// until a signal comes. Returns false if there is nothing.
bool wait_readable(base::FileDescriptor const& file, std::uint64_t deadline_ns);

} // namespace thalweg::source::raw
