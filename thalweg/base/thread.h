// Threads, and what they wait for each other with: those of the standard library, with the seam of the simulator.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

#include "thalweg/base/stand_in.h"
#include "thalweg/base/thread_annotations.h"

namespace thalweg::base {

// Held by a Lock.
class THALWEG_MUTEX Mutex {
  public:
    void lock() THALWEG_ACQUIRES() {
        if (stand_in == nullptr) [[likely]]
            mutex_.lock();
        else
            lock_simulated();
    }
    bool try_lock() THALWEG_TRY_ACQUIRES(true) { return mutex_.try_lock(); }
    void unlock() THALWEG_RELEASES() {
        mutex_.unlock();
        if (stand_in != nullptr) [[unlikely]]
            stand_in->wake(this);
    }

  private:
    friend class Condition;
    void lock_simulated();

    std::mutex mutex_;
};

// Holds a mutex until its end, or until `unlock`.
class THALWEG_LOCK Lock : public std::unique_lock<Mutex> {
  public:
    explicit Lock(Mutex& mutex) THALWEG_ACQUIRES(mutex) : std::unique_lock<Mutex>(mutex) {}
    ~Lock() THALWEG_RELEASES() = default;
    Lock(Lock const&) = delete;
    Lock& operator=(Lock const&) = delete;

    void lock() THALWEG_ACQUIRES() { std::unique_lock<Mutex>::lock(); }
    void unlock() THALWEG_RELEASES() { std::unique_lock<Mutex>::unlock(); }
};

class Condition {
  public:
    // Also returns for no reason: ask again what was waited for.
    void wait(std::unique_lock<Mutex>& lock);
    void wait_for(std::unique_lock<Mutex>& lock, std::uint64_t timeout_ns);
    // `is_done` is asked while the lock is held.
    template <class Predicate>
    void wait(std::unique_lock<Mutex>& lock, Predicate const& is_done) THALWEG_UNCHECKED_LOCKS {
        while (!is_done()) wait(lock);
    }
    void notify_one();
    void notify_all();

  private:
    // Gives the mutex back and takes it again, past the lock that holds it.
    void wait_simulated(std::unique_lock<Mutex>& lock, std::uint64_t timeout_ns) THALWEG_UNCHECKED_LOCKS;

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
