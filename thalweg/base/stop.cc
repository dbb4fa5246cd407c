#include "thalweg/base/stop.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace thalweg::base {

void sleep_ns(std::stop_token const& stop, std::uint64_t duration_ns) {
    std::mutex guards_nothing;
    std::condition_variable_any never;
    std::unique_lock lock(guards_nothing);
    never.wait_for(lock, stop, std::chrono::nanoseconds(duration_ns), [] { return false; });
}

} // namespace thalweg::base
