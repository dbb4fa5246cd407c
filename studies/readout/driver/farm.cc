#include "studies/readout/driver/farm.h"

#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include "studies/readout/driver/child.h"
#include "studies/readout/driver/own_sockets.h"
#include "thalweg/base/clock.h"

namespace thalweg::study {
namespace {

std::uint64_t ns_of(timeval const& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_usec) * 1'000;
}

std::uint64_t resident_bytes() {
    std::uint64_t whole = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> whole >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace

Json process_now() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return {{"at_ns", base::monotonic_ns()},
            {"cpu_ns", ns_of(used.ru_utime) + ns_of(used.ru_stime)},
            {"resident_bytes", resident_bytes()}};
}

void say(Json const& line) {
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
}

void answer_lines(std::function<Json(std::string const&)> const& answer) {
    StopSign const input(STDIN_FILENO);
    for (auto line = input.wait_for_line(); !line.empty(); line = input.wait_for_line()) say(answer(line));
}

} // namespace thalweg::study
