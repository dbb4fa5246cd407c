#include "signals.h"

#include <nanobind/nanobind.h>

#include "thalweg/base/clock.h"

namespace thalweg::bind {

namespace nb = nanobind;

std::function<void()> signal_check() {
    constexpr std::uint64_t kIntervalNs = 50'000'000;
    return [] {
        static thread_local std::uint64_t next_ns = base::monotonic_ns() + kIntervalNs;
        if (base::monotonic_ns() < next_ns) return;
        nb::gil_scoped_acquire const gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        next_ns = base::monotonic_ns() + kIntervalNs;
    };
}

} // namespace thalweg::bind
