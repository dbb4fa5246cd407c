#include "thalweg/source/raw/wait_readable.h"

#include <cerrno>
#include <ctime>
#include <poll.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::source::raw {

bool wait_readable(base::FileDescriptor const& file, std::uint64_t deadline_ns) {
    pollfd wanted{.fd = file.get(), .events = POLLIN};
    timespec left{};
    if (deadline_ns != 0) {
        auto const now_ns = base::monotonic_ns();
        auto const left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
        left = {.tv_sec = static_cast<std::time_t>(left_ns / base::kSecondNs),
                .tv_nsec = static_cast<long>(left_ns % base::kSecondNs)};
    }
    auto const ready = ::ppoll(&wanted, 1, &left, nullptr);
    if (ready < 0 && errno != EINTR) base::fail_system({"cannot wait for rows"}, errno);
    return ready > 0;
}

} // namespace thalweg::source::raw
