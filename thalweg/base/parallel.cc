#include "thalweg/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <sched.h>
#include <thread>
#include <vector>

#include "thalweg/base/thread.h"

namespace thalweg::base {

unsigned usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::max(1u, std::thread::hardware_concurrency());
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

void parallel_for(std::size_t count, unsigned threads, std::function<void(std::size_t)> const& work) {
    if (stand_in != nullptr) threads = 1;
    std::atomic<std::size_t> next = 0;
    std::exception_ptr first_error;
    Mutex error_mutex;
    auto const run = [&] {
        try {
            for (auto index = next++; index < count; index = next++) work(index);
        } catch (...) {
            Lock const lock(error_mutex);
            if (!first_error) first_error = std::current_exception();
            next = count;
        }
    };
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) helpers.emplace_back(run);
    run();
    helpers.clear(); // joins
    if (first_error) std::rethrow_exception(first_error);
}

} // namespace thalweg::base
