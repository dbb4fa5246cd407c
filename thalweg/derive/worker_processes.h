// Forked processes: started, watched, replaced when they die, ended with the one that forked them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace thalweg::derive {

struct WorkerEnd {
    unsigned number = 0; // of the worker, as it was started
    bool died = false;   // by a signal, or with another code than 0
    std::string how;     // "worker 4711 was killed by SIGSEGV"
};

// Used by one thread. Its destructor kills those that are left.
class WorkerProcesses {
  public:
    // Each process calls `work` with its number and ends then: its exit code is 0, or 1 if `work` throws, which
    // `failed` is told.
    WorkerProcesses(std::function<void(unsigned)> work, std::function<void(std::string const&)> failed)
        : work_(std::move(work)), failed_(std::move(failed)) {}
    ~WorkerProcesses();
    WorkerProcesses(WorkerProcesses const&) = delete;
    WorkerProcesses& operator=(WorkerProcesses const&) = delete;

    // Throws base::SystemError if there is no process left, and base::UsageError if this one ignores SIGCHLD.
    void start(unsigned number);
    // Returns one that has ended since, if there is any.
    std::optional<WorkerEnd> ended();
    void kill(unsigned number, std::string const& why);
    unsigned alive() const { return static_cast<unsigned>(alive_.size()); }

  private:
    struct Worker {
        unsigned number;
        pid_t pid;
        std::string killed_because; // empty: not by us
    };
    std::function<void(unsigned)> work_;
    std::function<void(std::string const&)> failed_;
    std::vector<Worker> alive_;
};

} // namespace thalweg::derive
