// A part of a measurement in a process of its own, so that its CPU time and memory can be measured.
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>
#include <thread>

#include "studies/driver/subcommands.h"
#include "thalweg/base/file_descriptor.h"

namespace thalweg::study {

// The process's side: its input, and whether it should end.
class StopSign {
  public:
    explicit StopSign(int fd) : fd_(fd) {}
    std::string wait_for_line() const;
    bool shown() const;
    // Calls `stop` from a thread of its own at the stop sign, while the returned object lives.
    std::jthread call(std::function<void()> const& stop) const;

  private:
    int fd_;
};

class Child {
  public:
    // Forks, so there must be no other thread yet. The process dies with its parent.
    explicit Child(std::function<Json(StopSign const&)> const& work);
    Child(Child const&) = delete;
    Child& operator=(Child const&) = delete;
    ~Child();

    void tell(std::string const& line);
    // Shows the stop sign, waits, and returns what `work` returned; throws base::SystemError if it failed.
    Json finish();
    pid_t pid() const { return pid_; }

  private:
    void wait();

    pid_t pid_ = -1;
    base::FileDescriptor stop_;   // closed: stop
    base::FileDescriptor result_; // the result at its end
};

} // namespace thalweg::study
