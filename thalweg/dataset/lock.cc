#include "thalweg/dataset/lock.h"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>

#include "thalweg/base/error.h"

namespace thalweg::dataset {
namespace {

// Between opening and locking, the journal may have been removed and another run's put in its place.
bool is_still_at(base::FileDescriptor const& fd, std::string const& path) {
    struct stat locked {
    }, there{};
    return ::fstat(fd.get(), &locked) == 0 && ::stat(path.c_str(), &there) == 0 && locked.st_ino == there.st_ino &&
           locked.st_dev == there.st_dev;
}

// Nothing where somebody else holds it.
std::optional<base::FileDescriptor> lock(std::string const& journal, int kind) {
    while (true) {
        auto fd = base::open_file(journal, O_RDONLY);
        if (::flock(fd.get(), kind | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK) return std::nullopt;
            base::fail_system({"cannot lock " + journal}, errno);
        }
        if (is_still_at(fd, journal)) return fd;
    }
}

} // namespace

base::FileDescriptor lock_shared(std::string const& journal) {
    if (auto fd = lock(journal, LOCK_SH)) return std::move(*fd);
    base::fail_usage({"cannot use " + journal, "it is being recovered"});
}

base::FileDescriptor lock_exclusive(std::string const& journal) {
    if (auto fd = lock(journal, LOCK_EX)) return std::move(*fd);
    base::fail_usage({"cannot take over the run of " + journal,
                      "it is still being written, or recovered by somebody else",
                      "stop its processes first (`lsof` names them)"});
}

} // namespace thalweg::dataset
