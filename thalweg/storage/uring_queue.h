#pragma once

#include "thalweg/storage/storage.h"

namespace thalweg::storage {

// Why this process cannot use io_uring; empty when it can. The environment variable THALWEG_IO_URING=0 forbids it.
std::string why_no_uring();

// Writes through a ring of the queue's own, or null where the kernel gives no ring: limits of memory may refuse one
// even after others were given. `fd` must outlive the queue.
std::unique_ptr<WriteQueue> make_uring_queue(int fd, std::string path, std::size_t depth);

} // namespace thalweg::storage
