// Does what may take long, one task after the other, in a thread of its own.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

#include "thalweg/base/thread.h"

namespace thalweg::monitor {

class Worker {
  public:
    explicit Worker(std::size_t most_tasks) : most_tasks_(most_tasks) {}
    // Waits for the task that is being done. Tasks that wait are dropped.
    ~Worker();
    Worker(Worker const&) = delete;
    Worker& operator=(Worker const&) = delete;

    // Returns false, and takes nothing, if so many tasks wait already.
    bool take(std::function<void()> task);

  private:
    void run();

    std::size_t const most_tasks_;
    base::Mutex mutex_;
    base::Condition changed_;
    std::deque<std::function<void()>> tasks_ THALWEG_GUARDED_BY(mutex_);
    bool ends_ THALWEG_GUARDED_BY(mutex_) = false;
    std::thread thread_; // started with the first task
};

} // namespace thalweg::monitor
