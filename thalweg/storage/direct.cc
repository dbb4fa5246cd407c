#include "thalweg/storage/direct.h"

#include <cerrno>
#include <fcntl.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/thread_queue.h"
#include "thalweg/storage/traced_queue.h"
#include "thalweg/storage/uring_queue.h"

namespace thalweg::storage {

DirectStorage::DirectStorage(std::string path, OpenMode mode, Engine engine)
    : PosixStorage(std::move(path), mode), direct_(base::open_file(this->path(), O_WRONLY | O_DIRECT)), wanted_(engine),
      why_no_uring_(engine == Engine::threads ? "" : why_no_uring()),
      uring_(engine != Engine::threads && why_no_uring_.empty()) {}

std::string DirectStorage::engine() const {
    if (uring_) return "io_uring, O_DIRECT";
    if (wanted_ == Engine::threads) return "4 threads, O_DIRECT";
    return "4 threads, O_DIRECT (no io_uring: " + (why_no_uring_.empty() ? "out of memory" : why_no_uring_) + ")";
}

std::unique_ptr<WriteQueue> DirectStorage::write_queue(std::size_t depth) {
    if (uring_) {
        if (auto queue = make_uring_queue(direct_.get(), path(), depth))
            return traced(std::move(queue), path(), depth, QueueEngine::uring);
        if (wanted_ == Engine::uring) fail_whole("make a ring to write", path(), ENOMEM);
        uring_ = false;
    }
    THALWEG_ASSERT(wanted_ != Engine::uring, "io_uring is not replaced if it was asked for by name");
    return traced(make_thread_queue(direct_.get(), path(), depth), path(), depth, QueueEngine::threads);
}

} // namespace thalweg::storage
