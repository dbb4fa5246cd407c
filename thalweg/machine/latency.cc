#include "thalweg/machine/latency.h"

#include <atomic>
#include <exception>
#include <sched.h>
#include <string>
#include <thread>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/machine/pinning.h"

namespace thalweg::machine {
namespace {

// The line is this large because prefetchers fetch lines in pairs.
struct alignas(256) Line {
    std::atomic<std::uint32_t> turn{0};
    alignas(256) std::atomic<bool> is_given_up{false};
};

constexpr std::uint32_t kSpinsBeforeLooking = 1u << 20;

// Returns false if the other thread has given up.
bool wait_for(Line const& line, std::uint32_t turn) {
    for (std::uint32_t spins = 1;; ++spins) {
        if (line.turn.load(std::memory_order_acquire) == turn) return true;
        if (spins % kSpinsBeforeLooking == 0) {
            if (line.is_given_up.load(std::memory_order_acquire)) return false;
            ::sched_yield(); // another thread may run on the other core
        }
    }
}

void answer(Line& line, std::uint32_t exchanges) {
    for (std::uint32_t i = 0; i < exchanges; ++i) {
        if (!wait_for(line, 2 * i + 1)) return;
        line.turn.store(2 * i + 2, std::memory_order_release);
    }
}

double ask(Line& line, std::uint32_t first, std::uint32_t exchanges) {
    auto const begin = base::monotonic_ns();
    for (std::uint32_t i = first; i < first + exchanges; ++i) {
        line.turn.store(2 * i + 1, std::memory_order_release);
        if (!wait_for(line, 2 * i + 2)) return 0;
    }
    return static_cast<double>(base::monotonic_ns() - begin) / (2.0 * exchanges);
}

} // namespace

std::vector<double> latency_ns(std::uint32_t first, std::uint32_t second, std::uint32_t rounds,
                               std::uint32_t exchanges) {
    if (first == second) {
        base::fail_usage({"there is no way from core " + std::to_string(first) + " to itself", "", "give two cores"});
    }
    constexpr std::uint32_t kWarmUp = 1000;
    Line line;
    std::exception_ptr no_first;
    std::exception_ptr no_second;
    std::vector<double> found;
    auto const in_core = [&line](std::uint32_t core, std::exception_ptr& failure, auto const& work) {
        try {
            pin_this_thread({core});
            work();
        } catch (...) {
            failure = std::current_exception();
            line.is_given_up.store(true, std::memory_order_release);
        }
    };
    {
        // The caller stays where it ran: both measuring threads are new.
        std::jthread const answering(
            [&] { in_core(second, no_second, [&] { answer(line, kWarmUp + rounds * exchanges); }); });
        std::jthread const asking([&] {
            in_core(first, no_first, [&] {
                ask(line, 0, kWarmUp);
                for (std::uint32_t i = 0; i < rounds; ++i) {
                    found.push_back(ask(line, kWarmUp + i * exchanges, exchanges));
                }
            });
        });
    }
    for (auto const& failure : {no_first, no_second}) {
        if (failure) std::rethrow_exception(failure);
    }
    return found;
}

} // namespace thalweg::machine
