#include "thalweg/base/scratch_budget.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "thalweg/base/error.h"
#include "thalweg/base/process.h"
#include "thalweg/base/thread.h"
#include "thalweg/base/units.h"

namespace thalweg::base {
namespace {

constexpr std::uint64_t kDefaultBytes = 256 * kMiB;

std::atomic<std::uint64_t> given_bytes = 0; // 0: none

std::uint64_t default_bytes() {
    auto const* const text = std::getenv(kReadMemoryVariable);
    if (text == nullptr || *text == 0) return kDefaultBytes;
    try {
        return std::max<std::uint64_t>(1, parse_size_bytes(text));
    } catch (UsageError const& error) {
        fail_usage(
            {std::string(kReadMemoryVariable) + " is no size", error.what(), "set it like 64MiB, or not at all"});
    }
}

struct Process {
    explicit Process(std::uint64_t generation) : fork_generation(generation) {}

    std::uint64_t const fork_generation;
    Mutex mutex;
    Condition released;
    std::uint64_t held_bytes THALWEG_GUARDED_BY(mutex) = 0;
};

// What was held before a fork is the parent's, and so is its mutex: a child begins anew.
Process& this_process_now() {
    static std::atomic<Process*> current = new Process(fork_generation());
    auto* found = current.load();
    while (found->fork_generation != fork_generation()) {
        auto* const fresh = new Process(fork_generation());
        if (current.compare_exchange_strong(found, fresh)) return *fresh;
        delete fresh;
    }
    return *found;
}

} // namespace

std::uint64_t read_memory_bytes() {
    auto const given = given_bytes.load();
    if (given > 0) return given;
    static auto const by_default = default_bytes();
    return by_default;
}

void set_read_memory_bytes(std::uint64_t size_bytes) {
    if (size_bytes == 0) fail_usage({"readers cannot do with 0 bytes of memory", "", "give them 1 at least"});
    given_bytes = size_bytes;
}

// Histories of the simulator end anywhere, and would leave what they hold to the next one.
ScratchShare::ScratchShare(std::uint64_t size_bytes)
    : held_bytes_(stand_in == nullptr ? size_bytes : 0), fork_generation_(fork_generation()) {
    if (held_bytes_ == 0) return;
    auto const limit_bytes = read_memory_bytes();
    auto& process = this_process_now();
    Lock lock(process.mutex);
    process.released.wait(lock, [&]() THALWEG_UNCHECKED_LOCKS {
        return process.held_bytes == 0 || process.held_bytes + held_bytes_ <= limit_bytes;
    });
    process.held_bytes += held_bytes_;
}

ScratchShare::~ScratchShare() {
    if (held_bytes_ == 0 || fork_generation_ != fork_generation()) return;
    auto& process = this_process_now();
    {
        Lock const lock(process.mutex);
        process.held_bytes -= held_bytes_;
    }
    process.released.notify_all();
}

std::uint64_t ScratchShare::held_in_process() {
    auto& process = this_process_now();
    Lock const lock(process.mutex);
    return process.held_bytes;
}

} // namespace thalweg::base
