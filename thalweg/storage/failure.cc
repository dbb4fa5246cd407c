#include "thalweg/storage/failure.h"

#include <cerrno>
#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::storage {
namespace {

std::string suggestion(int errno_code) {
    switch (errno_code) {
    case ENOSPC:
        return "free some space on that file system, or write to another one";
    case EDQUOT:
        return "free some of your quota there, or write to another file system";
    case EFBIG:
        return "raise the limit of file sizes (ulimit -f), or write to another file system";
    case EIO:
        return "the device or its connection is faulty: look into the kernel log (dmesg)";
    default:
        return "";
    }
}

} // namespace

void fail_at(char const* verb, std::string const& path, std::uint64_t offset, std::size_t size_bytes, int errno_code) {
    base::fail_system({fmt::format("cannot {} {} bytes at offset {} of {}", verb, size_bytes, offset, path), "",
                       suggestion(errno_code)},
                      errno_code);
}

void fail_whole(char const* verb, std::string const& path, int errno_code) {
    base::fail_system({fmt::format("cannot {} {}", verb, path), "", suggestion(errno_code)}, errno_code);
}

void fail_past_end(std::string const& path, std::uint64_t offset, std::size_t size_bytes, std::uint64_t end) {
    base::fail_system({fmt::format("cannot read {} bytes at offset {} of {}", size_bytes, offset, path),
                       fmt::format("it ends at byte {}", end)},
                      ENODATA);
}

} // namespace thalweg::storage
