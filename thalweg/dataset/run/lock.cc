#include "thalweg/dataset/run/lock.h"

#include <fcntl.h>
#include <optional>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"

namespace thalweg::dataset {
namespace {

// A process that was killed holds its locks until it has ended, which takes a while if it has much memory.
constexpr std::uint64_t kEndingNs = 1'000'000'000;
constexpr std::uint64_t kLookNs = 10'000'000;

// Between opening and locking, the journal may have been removed and another run's put in its place.
bool is_still_at(base::FileDescriptor const& fd, std::string const& path) {
    return base::identity_of(fd) == base::identity_of(path);
}

// Returns nothing if another process holds it.
std::optional<base::FileDescriptor> lock(std::string const& journal, bool exclusive, int flags) {
    while (true) {
        auto fd = base::open_file(journal, flags);
        if (!base::try_lock_file(fd, journal, exclusive)) return std::nullopt;
        if (is_still_at(fd, journal)) return fd;
    }
}

} // namespace

base::FileDescriptor lock_shared(std::string const& journal) {
    if (auto fd = lock(journal, false, O_RDONLY)) return std::move(*fd);
    base::fail_usage({"cannot use " + journal, "it is being recovered"});
}

base::FileDescriptor try_lock_exclusive(std::string const& journal) {
    auto fd = lock(journal, true, O_RDONLY);
    return fd ? std::move(*fd) : base::FileDescriptor();
}

base::FileDescriptor lock_exclusive(std::string const& journal, LockFor purpose) {
    auto const end_ns = base::monotonic_ns() + kEndingNs;
    do {
        if (auto fd = lock(journal, true, purpose == LockFor::writing ? O_RDWR : O_RDONLY)) return std::move(*fd);
        base::sleep_ns(kLookNs);
    } while (base::monotonic_ns() < end_ns);
    base::fail_usage({"cannot take over the run of " + journal,
                      "it is still being written, or another process recovers it",
                      "wait until it is closed, or end its processes if they hang (`lsof` names them)"});
}

} // namespace thalweg::dataset
