#include "thalweg/storage/thread_queue.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/thread.h"
#include "thalweg/storage/posix.h"
#include "thalweg/storage/queue.h"

namespace thalweg::storage {
namespace {

class ThreadQueue final : public WriteQueue {
  public:
    ThreadQueue(int fd, std::string path, std::size_t depth) : fd_(fd), path_(std::move(path)), depth_(depth) {
        start_thread();
    }

    // What was submitted is still written: the bytes may go once the queue has gone, not before.
    ~ThreadQueue() override { stop(); }

    void submit(std::uint64_t offset, std::span<std::byte const> bytes, std::uint64_t token) override {
        check_aligned(path_, offset, bytes);
        base::Lock lock(mutex_);
        while (pending_ >= depth_) ended_.wait(lock);
        ++pending_;
        waiting_.push_back({offset, bytes, token});
        // A thread for each write that is pending, and none that a faster device would not need.
        bool const is_short = threads_.size() < pending_;
        lock.unlock();
        if (is_short) start_thread();
        submitted_.notify_one();
    }

    std::size_t reap(std::span<Completion> out, bool wait) override {
        base::Lock lock(mutex_);
        while (wait && done_.empty() && pending_ != 0) ended_.wait(lock);
        return hand_out(done_, out);
    }

    std::size_t in_flight() const override {
        base::Lock const lock(mutex_);
        return pending_ + done_.size();
    }

  private:
    struct Write {
        std::uint64_t offset;
        std::span<std::byte const> bytes;
        std::uint64_t token;
    };

    void start_thread() {
        try {
            threads_.emplace_back([this] { work(); });
        } catch (std::system_error const& error) {
            if (!threads_.empty()) return; // fewer threads are slower and write the same
            base::fail_system({"cannot start a thread to write " + path_}, error.code().value());
        }
    }

    void stop() {
        {
            base::Lock const lock(mutex_);
            stopping_ = true;
        }
        submitted_.notify_all();
        threads_.clear(); // joins
    }

    void work() {
        base::Lock lock(mutex_);
        for (;;) {
            while (!stopping_ && waiting_.empty()) submitted_.wait(lock);
            if (waiting_.empty()) return;
            auto const write = waiting_.front();
            waiting_.pop_front();
            lock.unlock();
            int const error = write_all(fd_, write.offset, write.bytes);
            lock.lock();
            THALWEG_ASSERT(pending_ > waiting_.size() && pending_ <= depth_, "every pending write waits or is written");
            --pending_;
            done_.push_back({write.token, error});
            ended_.notify_one();
        }
    }

    int fd_;
    std::string path_;
    std::size_t depth_;
    std::vector<std::jthread> threads_;

    mutable base::Mutex mutex_;
    base::Condition submitted_;
    base::Condition ended_;
    std::deque<Write> waiting_ THALWEG_GUARDED_BY(mutex_);
    std::deque<Completion> done_ THALWEG_GUARDED_BY(mutex_);
    std::size_t pending_ THALWEG_GUARDED_BY(mutex_) = 0; // waiting or being written
    bool stopping_ THALWEG_GUARDED_BY(mutex_) = false;
};

} // namespace

std::unique_ptr<WriteQueue> make_thread_queue(int fd, std::string path, std::size_t depth) {
    return std::make_unique<ThreadQueue>(fd, std::move(path), std::max<std::size_t>(depth, 1));
}

} // namespace thalweg::storage
