#include "thalweg/storage/steady_file.h"

#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>
#include <utility>

#include "thalweg/base/error.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/stand_in.h"

namespace thalweg::storage {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

FileStamp state_of(int descriptor, std::string const& path) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) fail_whole("read the state of", path, errno);
    return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
            status.st_mtim.tv_sec * kNsPerSecond + status.st_mtim.tv_nsec};
}

} // namespace

SteadyFile::SteadyFile(std::string path)
    : PosixStorage(std::move(path), OpenMode::read_only), state_(state_of(descriptor(), this->path())) {}

void SteadyFile::hold() {
    is_held_ = true;
    check();
}

void SteadyFile::check() const {
    if (!is_held_) return;
    auto const now = state_of(descriptor(), path());
    if (now == state_) return;
    auto const why =
        now.size_bytes == state_.size_bytes
            ? std::string("another program has written to it since it was opened")
            : fmt::format("it had {} bytes when it was opened, and has {} now", state_.size_bytes, now.size_bytes);
    base::fail_data({path() + " is not the file that was opened", why, "open it again"});
}

// The comparison comes after the bytes: what was written before they were read is then seen.
void SteadyFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
    try {
        PosixStorage::read(offset, bytes);
    } catch (base::SystemError const&) {
        check(); // a file that has become shorter
        throw;
    }
    check();
}

std::unique_ptr<SteadyFile> open_steady_file(std::string const& path) {
    return stand_in == nullptr ? std::make_unique<SteadyFile>(path) : nullptr;
}

} // namespace thalweg::storage
