#include "studies/readout/driver/threads.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <sched.h>
#include <thread>

#include "thalweg/base/error.h"

namespace thalweg::study {

void pin(std::string const& processor) {
    if (processor.empty()) return;
    int number = -1;
    std::from_chars(processor.data(), processor.data() + processor.size(), number);
    cpu_set_t set;
    CPU_ZERO(&set);
    if (number >= 0 && number < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(number), &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0) {
        base::fail_system({"cannot run on processor " + processor}, errno);
    }
}

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(30)); }

} // namespace thalweg::study
