// A queue that says when its writes began and ended, and for how long it was waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "thalweg/storage/storage.h"

namespace thalweg::storage {

enum class QueueEngine : std::uint8_t { uring = 1, threads = 2 };

// Returns the queue itself if no tracer is loaded.
std::unique_ptr<WriteQueue> traced(std::unique_ptr<WriteQueue> queue, std::string const& path, std::size_t depth,
                                   QueueEngine engine);

} // namespace thalweg::storage
