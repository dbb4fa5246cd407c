#include "thalweg/dataset/lock.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>

#include "thalweg/base/error.h"

namespace thalweg::dataset {

base::FileDescriptor lock_shared(std::string const& journal) {
    auto fd = base::open_file(journal, O_RDONLY);
    if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return fd;
    if (errno == EWOULDBLOCK) base::fail_usage({"cannot use " + journal, "it is being recovered"});
    base::fail_system({"cannot lock " + journal}, errno);
}

base::FileDescriptor lock_exclusive(std::string const& journal) {
    auto fd = base::open_file(journal, O_RDONLY);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    if (errno == EWOULDBLOCK) {
        base::fail_usage({"cannot recover " + journal, "the run is still being written, or recovered by somebody else",
                          "stop its processes first (`lsof` names them)"});
    }
    base::fail_system({"cannot lock " + journal}, errno);
}

} // namespace thalweg::dataset
