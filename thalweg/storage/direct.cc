#include "thalweg/storage/direct.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/memory.h"
#include "thalweg/base/units.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/thread_queue.h"
#include "thalweg/storage/traced_queue.h"
#include "thalweg/storage/uring_queue.h"

namespace thalweg::storage {
namespace {

constexpr std::size_t kBounceBytes = base::kMiB;

// Returns the size of the whole blocks that hold this range.
std::size_t blocks_bytes(std::uint64_t offset, std::size_t size_bytes) {
    return base::round_up(offset + size_bytes, base::kBlockBytes) - base::round_down(offset, base::kBlockBytes);
}

} // namespace

DirectStorage::DirectStorage(std::string path, OpenMode mode, Engine engine)
    : PosixStorage(std::move(path), mode), direct_(base::open_file(this->path(), O_WRONLY | O_DIRECT)), wanted_(engine),
      why_no_uring_(engine == Engine::threads ? "" : why_no_uring()),
      uring_(engine != Engine::threads && why_no_uring_.empty()) {}

std::string DirectStorage::engine() const {
    if (uring_) return "io_uring, O_DIRECT";
    if (wanted_ == Engine::threads) return "threads, O_DIRECT";
    return "threads, O_DIRECT (no io_uring: " + (why_no_uring_.empty() ? "out of memory" : why_no_uring_) + ")";
}

void DirectStorage::write_beside_queues(std::uint64_t offset, std::span<std::byte const> bytes) {
    check_writable();
    base::AlignedBuffer const buffer(std::min(blocks_bytes(offset, bytes.size()), kBounceBytes));
    while (!bytes.empty()) {
        auto const begin = base::round_down(offset, base::kBlockBytes);
        auto const count = std::min<std::uint64_t>(bytes.size(), begin + buffer.size() - offset);
        auto const blocks = buffer.bytes().first(blocks_bytes(offset, count));
        if (blocks.size() != count) read_until_end(begin, blocks);
        std::memcpy(blocks.data() + (offset - begin), bytes.data(), count);
        if (int const error = write_all(direct_.get(), begin, blocks); error != 0) {
            fail_at("write", path(), begin, blocks.size(), error);
        }
        offset += count;
        bytes = bytes.subspan(count);
    }
}

// What lies beyond the end of the file is zeros.
void DirectStorage::read_until_end(std::uint64_t offset, std::span<std::byte> bytes) const {
    auto const there = std::clamp(size(), offset, offset + bytes.size()) - offset;
    read(offset, bytes.first(there));
    std::ranges::fill(bytes.subspan(there), std::byte{});
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
