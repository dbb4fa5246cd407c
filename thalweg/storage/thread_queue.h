#pragma once

#include "thalweg/storage/storage.h"

namespace thalweg::storage {

// Writes by pwrite from threads of its own, up to `depth` of them, as many as writes were in flight at a time: what
// direct I/O falls back to where io_uring is forbidden, as in most containers. `fd` must outlive the queue.
std::unique_ptr<WriteQueue> make_thread_queue(int fd, std::string path, std::size_t depth);

} // namespace thalweg::storage
