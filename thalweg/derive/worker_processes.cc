#include "thalweg/derive/worker_processes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::derive {
namespace {

std::string how_it_ended(pid_t pid, int status) {
    if (WIFEXITED(status)) return fmt::format("worker {} ended with code {}", pid, WEXITSTATUS(status));
    auto const signal = WTERMSIG(status);
    auto const* const name = ::sigabbrev_np(signal);
    return fmt::format("worker {} was killed by {}{}", pid,
                       name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal),
                       signal == SIGKILL ? ", as the kernel does if memory is short" : "");
}

} // namespace

WorkerProcesses::~WorkerProcesses() {
    for (auto const& worker : alive_) {
        ::kill(worker.pid, SIGKILL);
        while (::waitpid(worker.pid, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
}

namespace {

void check_that_deaths_are_heard_of() {
    struct sigaction action {};
    ::sigaction(SIGCHLD, nullptr, &action);
    if (action.sa_handler != SIG_IGN && (action.sa_flags & SA_NOCLDWAIT) == 0) return;
    base::fail_usage({"workers cannot be started",
                      "this process ignores SIGCHLD, so that it would not hear of their end",
                      "give that signal its default, or take threads alone (`workers` 0)"});
}

} // namespace

void WorkerProcesses::start(unsigned number) {
    THALWEG_ASSERT(std::ranges::none_of(alive_, [&](Worker const& worker) { return worker.number == number; }),
                   "a worker that is alive has a number of its own");
    check_that_deaths_are_heard_of();
    std::fflush(nullptr); // else both would write what waits in the buffers
    auto const parent = ::getpid();
    auto const pid = ::fork();
    if (pid < 0) base::fail_system({"cannot start a worker"}, errno);
    if (pid > 0) {
        alive_.push_back({number, pid, ""});
        return;
    }
    // The process that started it holds the locks of the outputs, and may have died before this call.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    int code = 0;
    try {
        work_(number);
    } catch (std::exception const& error) {
        failed_(error.what());
        code = 1;
    }
    std::fflush(nullptr);
    ::_exit(code); // nothing of what was inherited may be ended here
}

std::optional<WorkerEnd> WorkerProcesses::ended() {
    for (auto each = alive_.begin(); each != alive_.end(); ++each) {
        int status = 0;
        if (::waitpid(each->pid, &status, WNOHANG) != each->pid) continue;
        WorkerEnd end{each->number, !WIFEXITED(status) || WEXITSTATUS(status) != 0, how_it_ended(each->pid, status)};
        if (!each->killed_because.empty()) end.how = each->killed_because;
        alive_.erase(each);
        return end;
    }
    return std::nullopt;
}

void WorkerProcesses::kill(unsigned number, std::string const& why) {
    for (auto& worker : alive_) {
        if (worker.number != number || !worker.killed_because.empty()) continue;
        worker.killed_because = fmt::format("worker {} was killed: {}", worker.pid, why);
        ::kill(worker.pid, SIGKILL);
    }
}

} // namespace thalweg::derive
