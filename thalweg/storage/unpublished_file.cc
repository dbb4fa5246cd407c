#include "thalweg/storage/unpublished_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/probe.h"
#include "thalweg/storage/thread_queue.h"
#include "thalweg/storage/traced_queue.h"
#include "thalweg/storage/uring_queue.h"

namespace thalweg::storage {
namespace {

constexpr std::uint64_t kPieceBytes = 64 * base::kMiB; // that the kernel copies at once
constexpr std::size_t kBufferBytes = base::kMiB;

std::string folder_of(std::string const& path) {
    auto const folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

// Beside `path`, so that it can be renamed.
std::string hidden_name(std::string const& path) {
    auto const name = std::filesystem::path(path).filename().string();
    return fmt::format("{}/.{}.{}.partial", folder_of(path), name, ::getpid());
}

// False where the file system cannot.
bool share_blocks(int from, int to, std::uint64_t size_bytes, std::string const& path) {
    file_clone_range range{};
    range.src_fd = from;
    range.src_length = size_bytes;
    if (::ioctl(to, FICLONERANGE, &range) == 0) return true;
    if (base::is_no_space(errno) || errno == EIO) fail_at("write", path, 0, size_bytes, errno);
    return false;
}

// Returns how many bytes were copied: fewer than wanted if the kernel cannot copy them, to another file system, say.
std::uint64_t copy_in_kernel(int from, int to, std::uint64_t size_bytes, std::string const& path,
                             std::function<void()> const& between) {
    std::uint64_t done = 0;
    while (done < size_bytes) {
        auto in = static_cast<off_t>(done), out = static_cast<off_t>(done);
        auto const copied = ::copy_file_range(from, &in, to, &out, std::min(kPieceBytes, size_bytes - done), 0);
        if (copied < 0 && errno == EINTR) continue;
        if (copied < 0 && (base::is_no_space(errno) || errno == EIO))
            fail_at("write", path, done, size_bytes - done, errno);
        if (copied <= 0) break;
        done += static_cast<std::uint64_t>(copied);
        if (between) between();
    }
    return done;
}

} // namespace

std::string_view name_of(CopyWay way) {
    switch (way) {
    case CopyWay::shared:
        return "blocks shared";
    case CopyWay::kernel:
        return "copied by the kernel";
    case CopyWay::through:
        return "read and written";
    }
    return "";
}

UnpublishedFile::Made UnpublishedFile::make(std::string const& path) {
    auto const folder = folder_of(path);
    int const fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
    if (fd >= 0) return {base::FileDescriptor(fd), {}};
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) base::fail_system({"cannot create " + path}, errno);
    auto hidden = hidden_name(path);
    ::unlink(hidden.c_str()); // of a process of the same number that was killed
    return {base::open_file(hidden, O_RDWR | O_CREAT | O_EXCL), hidden};
}

UnpublishedFile::UnpublishedFile(std::string const& path) : UnpublishedFile(path, make(path)) {}

UnpublishedFile::UnpublishedFile(std::string const& path, Made made)
    : PosixStorage(path, OpenMode::read_write, std::move(made.file)), hidden_(std::move(made.hidden)) {
    auto const open_file = fmt::format("/proc/self/fd/{}", descriptor());
    if (why_not_direct(open_file).empty()) direct_ = base::open_file(open_file, O_WRONLY | O_DIRECT);
}

std::string UnpublishedFile::engine() const {
    return direct_.get() < 0        ? PosixStorage::engine()
           : why_no_uring().empty() ? "io_uring, O_DIRECT"
                                    : "threads, O_DIRECT";
}

std::unique_ptr<WriteQueue> UnpublishedFile::write_queue(std::size_t depth) {
    if (direct_.get() < 0) return PosixStorage::write_queue(depth);
    if (why_no_uring().empty()) {
        if (auto queue = make_uring_queue(direct_.get(), path(), depth))
            return traced(std::move(queue), path(), depth, QueueEngine::uring);
    }
    return traced(make_thread_queue(direct_.get(), path(), depth), path(), depth, QueueEngine::threads);
}

UnpublishedFile::~UnpublishedFile() {
    if (!hidden_.empty()) ::unlink(hidden_.c_str());
}

CopyWay UnpublishedFile::copy_from(Storage const& from, std::uint64_t size_bytes,
                                   std::function<void()> const& between) {
    if (between) between();
    std::uint64_t done = 0;
    if (auto const* file = dynamic_cast<PosixStorage const*>(&from)) {
        if (share_blocks(file->descriptor(), descriptor(), size_bytes, path())) return CopyWay::shared;
        done = copy_in_kernel(file->descriptor(), descriptor(), size_bytes, path(), between);
        if (done == size_bytes) return CopyWay::kernel;
    }
    std::vector<std::byte> buffer(kBufferBytes);
    while (done < size_bytes) {
        auto const piece = std::span(buffer).first(std::min<std::uint64_t>(kBufferBytes, size_bytes - done));
        from.read(done, piece);
        write(done, piece);
        done += piece.size();
        if (between) between();
    }
    return CopyWay::through;
}

void UnpublishedFile::link_to(std::string const& path) const {
    auto const open_file = fmt::format("/proc/self/fd/{}", descriptor());
    auto const* const from = hidden_.empty() ? open_file.c_str() : hidden_.c_str();
    if (::linkat(AT_FDCWD, from, AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
    if (errno == EEXIST) {
        base::fail_usage({"cannot create " + path, "it exists already", "choose another name, or say --force"});
    }
    base::fail_system({"cannot create " + path}, errno);
}

void UnpublishedFile::publish(bool replace) {
    sync();
    // If there is nothing to replace, a process that is killed here leaves no second name.
    if (!replace || !std::filesystem::exists(std::filesystem::symlink_status(path()))) {
        link_to(path());
    } else {
        auto beside = hidden_;
        if (beside.empty()) {
            beside = hidden_name(path());
            ::unlink(beside.c_str());
            link_to(beside);
        }
        if (std::rename(beside.c_str(), path().c_str()) != 0) {
            auto const error = errno;
            ::unlink(beside.c_str());
            base::fail_system({"cannot replace " + path()}, error);
        }
        hidden_.clear();
    }
    base::sync_directory_of(path());
}

} // namespace thalweg::storage
