// Counters and timers by name, one set for the whole process. Anything that wants to know where the time goes takes a
// snapshot before and one after.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/clock.h"

namespace thalweg::trace {

// One cache line each, so that two threads that count different things do not slow each other down.
class alignas(64) Counter {
  public:
    void add(std::uint64_t amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
    std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_ = 0;
};

// How often something was done, how long that took, and how much of it was CPU time of the thread that did it.
struct Timer {
    Counter calls;
    Counter wall_ns;
    Counter cpu_ns;
};

// Adds its own lifetime to a timer.
class Span {
  public:
    explicit Span(Timer& timer) : timer_(timer), wall_ns_(base::monotonic_ns()), cpu_ns_(base::thread_cpu_ns()) {}
    Span(Span const&) = delete;
    Span& operator=(Span const&) = delete;
    ~Span() {
        timer_.calls.add(1);
        timer_.wall_ns.add(base::monotonic_ns() - wall_ns_);
        timer_.cpu_ns.add(base::thread_cpu_ns() - cpu_ns_);
    }

  private:
    Timer& timer_;
    std::uint64_t wall_ns_;
    std::uint64_t cpu_ns_;
};

// The counter or timer of that name, made on first use and never destroyed. Looking it up takes a lock: keep the
// reference, as in `static auto& bytes = trace::counter("storage.bytes");`.
Counter& counter(std::string_view name);
Timer& timer(std::string_view name);

// All of them, in the order of their names; a timer gives NAME.calls, NAME.cpu_ns and NAME.wall_ns.
std::vector<std::pair<std::string, std::uint64_t>> snapshot();

} // namespace thalweg::trace
