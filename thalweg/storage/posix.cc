#include "thalweg/storage/posix.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/base/fresh_status.h"
#include "thalweg/base/units.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/probe.h"
#include "thalweg/storage/queue.h"
#include "thalweg/trace/activity.h"
#include "thalweg/trace/trace.h"

namespace thalweg::storage {
namespace {

base::FileDescriptor open_for(std::string const& path, OpenMode mode) {
    if (mode == OpenMode::read_only) return base::open_file(path, O_RDONLY);
    if (mode == OpenMode::read_write) return base::open_file(path, O_RDWR);
    try {
        return base::open_file(path, O_RDWR | O_CREAT | O_EXCL);
    } catch (base::SystemError const& error) {
        if (error.code != EEXIST) throw;
        base::fail_system({"cannot create " + path, "it exists already", "remove it or choose another name"}, EEXIST);
    }
}

} // namespace

int write_all(int fd, std::uint64_t offset, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
        auto const written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        if (written == 0) return EIO; // no progress and no reason: better an error than a loop
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        offset += static_cast<std::uint64_t>(written);
    }
    return 0;
}

PosixStorage::PosixStorage(std::string path, OpenMode mode)
    : path_(std::move(path)), mode_(mode), file_(open_for(path_, mode)) {}

PosixStorage::PosixStorage(std::string path, OpenMode mode, base::FileDescriptor file)
    : path_(std::move(path)), mode_(mode), file_(std::move(file)) {}

void PosixStorage::check_writable() const {
    if (mode_ == OpenMode::read_only) {
        base::fail_system({"cannot write to " + path_, "it was opened for reading only"}, EBADF);
    }
}

void PosixStorage::read(std::uint64_t offset, std::span<std::byte> bytes) const {
    auto rest = bytes;
    while (!rest.empty()) {
        auto const at = offset + (bytes.size() - rest.size());
        auto const got = ::pread(file_.get(), rest.data(), rest.size(), static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_at("read", path_, offset, bytes.size(), errno);
        if (got == 0) fail_past_end(path_, offset, bytes.size(), size());
        rest = rest.subspan(static_cast<std::size_t>(got));
    }
}

void PosixStorage::write(std::uint64_t offset, std::span<std::byte const> bytes) {
    check_writable();
    if (int const error = write_all(file_.get(), offset, bytes); error != 0) {
        fail_at("write", path_, offset, bytes.size(), error);
    }
}

std::uint64_t PosixStorage::size() const { return base::fresh_status(file_.get(), path_).size_bytes; }

void PosixStorage::resize(std::uint64_t size_bytes) {
    check_writable();
    auto const truncate = [&] { return ::ftruncate(file_.get(), static_cast<off_t>(size_bytes)); };
    if (int const error = uninterrupted(truncate); error != 0) fail_whole("resize", path_, error);
}

// tmpfs allocates page by page under the lock that writes need, too: in pieces it lets them in between. Other file
// systems note whole ranges at once, and pieces cost them more.
int PosixStorage::allocate(std::uint64_t offset, std::uint64_t end) const {
    auto const piece = is_on_tmpfs() ? base::kMiB : end - offset;
    for (int error = 0; offset < end; offset += piece) {
        auto const bytes = std::min(piece, end - offset);
        auto const call = [&] {
            return ::fallocate(file_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
        };
        if (error = uninterrupted(call); error != 0) return error;
    }
    return 0;
}

bool PosixStorage::is_on_tmpfs() const {
    try {
        return file_system_of(file_, path_) == "tmpfs";
    } catch (base::SystemError const&) { // that cannot be asked now: one large piece is right on any file system
        return false;
    }
}

// The allocation itself decides. The question before it only spares a full disk, so a question that fails is no answer.
bool PosixStorage::has_too_little(std::uint64_t more_bytes) const {
    try {
        auto const space = space_of(file_, path_);
        return space.total_bytes > 0 && more_bytes > space.free_bytes;
    } catch (base::SystemError const&) {
        return false;
    }
}

void PosixStorage::reserve(std::uint64_t offset, std::uint64_t size_bytes) {
    static auto& timer = trace::timer("storage.reserve");
    trace::Span const span(timer);
    check_writable();
    if (size_bytes == 0) return;
    // Asked first, because a fallocate that runs out of space keeps all that it found until then, and leaves a full
    // disk to all other programs.
    auto const end = offset + size_bytes;
    auto const more_bytes = end - std::clamp(size(), offset, end); // What lies before the offset may be a hole.
    if (has_too_little(more_bytes)) fail_at("reserve", path_, offset, size_bytes, ENOSPC);
    int const error = allocate(offset, end);
    // A file system without fallocate cannot promise space. The file is left as it is, and grows when it is written: to
    // set its size, or to write behind its end, could undo what another process writes there meanwhile.
    if (error == EOPNOTSUPP) return;
    if (error != 0) fail_at("reserve", path_, offset, size_bytes, error);
}

// Best effort: the file is right without it.
void PosixStorage::give_back(std::uint64_t offset, std::uint64_t size_bytes) {
    check_writable();
    static_cast<void>(uninterrupted([&] {
        return ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                           static_cast<off_t>(size_bytes));
    }));
}

// This moves the position in the file, which no other function uses.
std::uint64_t PosixStorage::hole_at(std::uint64_t offset) const {
    auto const data = ::lseek(file_.get(), static_cast<off_t>(offset), SEEK_DATA);
    if (data >= 0) return static_cast<std::uint64_t>(data) - offset;
    if (errno != ENXIO) return 0; // a file system that cannot tell
    auto const end = size();      // nothing but a hole from there on
    return end > offset ? end - offset : 0;
}

// Else the kernel takes small reads with gaps between them for random ones, and reads no more than these.
std::shared_ptr<void const> PosixStorage::expect_reads(std::uint64_t offset, std::uint64_t size_bytes) const {
    static_cast<void>(
        ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(size_bytes), POSIX_FADV_WILLNEED));
    return {};
}

void PosixStorage::sync() {
    static auto& timer = trace::timer("storage.sync");
    trace::Span const span(timer);
    trace::Traced traced_sync(trace::Activity::sync_data, path_.c_str(), 0);
    // The kernel reports a failed write-back once and then forgets the lost pages: a later success would be a lie.
    if (sync_error_ == 0) sync_error_ = uninterrupted([&] { return ::fdatasync(file_.get()); });
    if (int const error = sync_error_; error != 0) fail_whole("sync", path_, error);
    traced_sync.set_result(0);
}

std::unique_ptr<WriteQueue> PosixStorage::write_queue(std::size_t) {
    check_writable();
    return make_synchronous_queue(*this);
}

} // namespace thalweg::storage
