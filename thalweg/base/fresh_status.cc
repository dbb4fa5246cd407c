#include "thalweg/base/fresh_status.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "thalweg/base/error.h"

namespace thalweg::base {
namespace {

// Some containers do not allow statx: what the kernel knows has to do then.
bool is_refused(int error) { return error == ENOSYS || error == EPERM || error == EINVAL; }

// Returns an errno, or 0. `path` is empty if the file is `fd` itself.
int ask(int fd, char const* path, FreshStatus& status) {
    int const flags = *path == '\0' ? AT_EMPTY_PATH : 0;
    struct statx fresh {};
    if (::statx(fd, path, flags | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS | STATX_BTIME, &fresh) == 0) {
        status = {makedev(fresh.stx_dev_major, fresh.stx_dev_minor), fresh.stx_ino, fresh.stx_nlink, fresh.stx_size};
        if ((fresh.stx_mask & STATX_BTIME) != 0)
            status.born = FileMoment{fresh.stx_btime.tv_sec, fresh.stx_btime.tv_nsec};
        return 0;
    }
    if (!is_refused(errno)) return errno;
    struct stat known {};
    if (::fstatat(fd, path, &known, flags) != 0) return errno;
    status = {known.st_dev, known.st_ino, known.st_nlink, static_cast<std::uint64_t>(known.st_size)};
    return 0;
}

} // namespace

std::optional<FreshStatus> fresh_status(std::string const& path) {
    FreshStatus status;
    int const error = ask(AT_FDCWD, path.c_str(), status);
    if (error == ENOENT || error == ENOTDIR || path.empty()) return std::nullopt;
    if (error != 0) fail_system({"cannot look at " + path}, error);
    return status;
}

FreshStatus fresh_status(int fd, std::string const& path) {
    FreshStatus status;
    if (int const error = ask(fd, "", status); error != 0) fail_system({"cannot look at " + path}, error);
    return status;
}

} // namespace thalweg::base
