#pragma once

#include "thalweg/storage/storage.h"

namespace thalweg::storage {

// Writes by pwrite from up to four threads of its own, which sleep while there is nothing to do: what direct I/O falls
// back to where io_uring is forbidden, as in most containers. `fd` must outlive the queue.
std::unique_ptr<WriteQueue> make_thread_queue(int fd, std::string path, std::size_t depth);

} // namespace thalweg::storage
