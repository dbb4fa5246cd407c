#pragma once

#include <atomic>
#include <cstdint>

namespace thalweg::base {

// A number that one thread changes and any thread may read: no more than a plain store.
class SharedNumber {
  public:
    std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }
    void set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
    void add(std::uint64_t value) { set(get() + value); }

  private:
    std::atomic<std::uint64_t> value_ = 0;
};

} // namespace thalweg::base
