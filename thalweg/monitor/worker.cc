#include "thalweg/monitor/worker.h"

#include <utility>

namespace thalweg::monitor {

Worker::~Worker() {
    {
        base::Lock const lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool Worker::take(std::function<void()> task) {
    {
        base::Lock const lock(mutex_);
        if (tasks_.size() >= most_tasks_) return false;
        tasks_.push_back(std::move(task));
    }
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.notify_all();
    return true;
}

void Worker::run() {
    for (;;) {
        std::function<void()> task;
        {
            base::Lock lock(mutex_);
            while (tasks_.empty() && !ends_) changed_.wait(lock);
            if (ends_) return;
            task = std::move(tasks_.front());
            tasks_.pop_front();
        }
        task();
    }
}

} // namespace thalweg::monitor
