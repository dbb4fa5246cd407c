// Threads, and what they wait for each other with: those of the standard library, with the seam of the simulator.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

#include "thalweg/base/stand_in.h"

namespace thalweg::base {

// For std::lock_guard and std::unique_lock.
class Mutex {
  public:
    void lock() {
        if (stand_in == nullptr) [[likely]]
            mutex_.lock();
        else
            lock_simulated();
    }
    bool try_lock() { return mutex_.try_lock(); }
    void unlock() {
        mutex_.unlock();
        if (stand_in != nullptr) [[unlikely]]
            stand_in->wake(this);
    }

  private:
    friend class Condition;
    void lock_simulated();

    std::mutex mutex_;
};

class Condition {
  public:
    // Also returns for no reason: ask again what was waited for.
    void wait(std::unique_lock<Mutex>& lock);
    void wait_for(std::unique_lock<Mutex>& lock, std::uint64_t timeout_ns);
    template <class Predicate> void wait(std::unique_lock<Mutex>& lock, Predicate const& is_done) {
        while (!is_done()) wait(lock);
    }
    void notify_one();
    void notify_all();

  private:
    void wait_simulated(std::unique_lock<Mutex>& lock, std::uint64_t timeout_ns);

    std::condition_variable condition_;
};

// Joined by its destructor.
class Thread {
  public:
    Thread() = default;
    // Throws std::system_error where the machine has no thread left.
    explicit Thread(std::function<void()> work);
    Thread(Thread&& other) noexcept;
    Thread& operator=(Thread&& other) noexcept;
    ~Thread();

    bool joinable() const { return simulated_ != 0 || thread_.joinable(); }
    void join();

  private:
    std::thread thread_;
    std::uint64_t simulated_ = 0; // its number in the simulation; 0: there is none
};

} // namespace thalweg::base
