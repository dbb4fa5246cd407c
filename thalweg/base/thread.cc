#include "thalweg/base/thread.h"

#include <chrono>
#include <utility>

namespace thalweg::base {
namespace {

constexpr std::uint64_t kForEverNs = std::numeric_limits<std::uint64_t>::max();

} // namespace

void Mutex::lock_simulated() {
    while (!mutex_.try_lock()) stand_in->wait_for(this, kForEverNs);
}

// std::condition_variable knows std::mutex only: it borrows the one inside.
void Condition::wait(std::unique_lock<Mutex>& lock) {
    if (stand_in != nullptr) return wait_simulated(lock, kForEverNs);
    std::unique_lock inner(lock.mutex()->mutex_, std::adopt_lock);
    condition_.wait(inner);
    inner.release();
}

void Condition::wait_for(std::unique_lock<Mutex>& lock, std::uint64_t timeout_ns) {
    if (stand_in != nullptr) return wait_simulated(lock, timeout_ns);
    std::unique_lock inner(lock.mutex()->mutex_, std::adopt_lock);
    condition_.wait_for(inner, std::chrono::nanoseconds(timeout_ns));
    inner.release();
}

void Condition::wait_simulated(std::unique_lock<Mutex>& lock, std::uint64_t timeout_ns) {
    lock.mutex()->mutex_.unlock(); // no thread runs between this and the wait, so no notification is missed
    stand_in->wake(lock.mutex());
    stand_in->wait_for(this, timeout_ns);
    lock.mutex()->lock();
}

void Condition::notify_one() { stand_in == nullptr ? condition_.notify_one() : stand_in->wake(this); }

void Condition::notify_all() { stand_in == nullptr ? condition_.notify_all() : stand_in->wake(this); }

Thread::Thread(std::function<void()> work) {
    if (stand_in != nullptr) {
        simulated_ = stand_in->start_thread(std::move(work));
    } else {
        thread_ = std::thread(std::move(work));
    }
}

Thread::Thread(Thread&& other) noexcept
    : thread_(std::move(other.thread_)), simulated_(std::exchange(other.simulated_, 0)) {}

Thread& Thread::operator=(Thread&& other) noexcept {
    std::swap(thread_, other.thread_);
    std::swap(simulated_, other.simulated_);
    return *this;
}

Thread::~Thread() {
    if (joinable()) join();
}

void Thread::join() {
    if (simulated_ != 0)
        stand_in->join_thread(std::exchange(simulated_, 0));
    else
        thread_.join();
}

} // namespace thalweg::base
