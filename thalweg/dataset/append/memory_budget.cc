#include "thalweg/dataset/append/memory_budget.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "thalweg/base/assert.h"
#include "thalweg/base/process.h"
#include "thalweg/base/stand_in.h"
#include "thalweg/base/thread.h"

namespace thalweg::dataset {

struct MemoryShare::Counts {
    std::uint64_t producers = 0;
    std::uint64_t taken_bytes = 0;
    std::uint64_t least_bytes = 0;
};

struct MemoryShare::Process {
    explicit Process(std::uint64_t generation) : fork_generation(generation) {}

    std::uint64_t const fork_generation;
    base::Mutex mutex;
    Counts counts THALWEG_GUARDED_BY(mutex);
};

// What was taken before a fork is the parent's, and so is its mutex, which another thread may have held: a child begins
// anew.
MemoryShare::Process& MemoryShare::this_process() {
    // Not from the heap: of a program under ThreadSanitizer, which does not see how this pointer becomes known, each
    // other thread would seem to race with `new`. It is never destroyed, since threads may outlive static objects.
    alignas(Process) static std::array<std::byte, sizeof(Process)> first;
    static std::atomic<Process*> current = new (first.data()) Process(base::fork_generation());
    auto* found = current.load();
    while (found->fork_generation != base::fork_generation()) {
        auto* const fresh = new Process(base::fork_generation());
        if (current.compare_exchange_strong(found, fresh)) return *fresh;
        delete fresh;
    }
    return *found;
}

MemoryShare::MemoryShare(std::uint64_t limit_bytes, std::uint64_t least_bytes)
    : simulated_(base::stand_in != nullptr ? std::make_unique<Process>(base::fork_generation()) : nullptr),
      process_(simulated_ ? simulated_.get() : &this_process()), limit_bytes_(limit_bytes), least_bytes_(least_bytes),
      fork_generation_(base::fork_generation()) {
    base::Lock const lock(process_->mutex);
    ++process_->counts.producers;
    process_->counts.least_bytes += least_bytes_;
}

MemoryShare::~MemoryShare() {
    if (fork_generation_ != base::fork_generation()) return;
    base::Lock const lock(process_->mutex);
    --process_->counts.producers;
    process_->counts.least_bytes -= least_bytes_;
    process_->counts.taken_bytes -= held_bytes_;
}

std::uint64_t MemoryShare::part_bytes(Counts const& counts) const {
    return std::max(limit_bytes_ / std::max<std::uint64_t>(1, counts.producers), least_bytes_);
}

std::uint64_t MemoryShare::most(Counts const& counts) const {
    auto const others_bytes = counts.taken_bytes - held_bytes_;
    return std::max(part_bytes(counts), limit_bytes_ - std::min(limit_bytes_, others_bytes));
}

void MemoryShare::add(Counts& counts, std::uint64_t size_bytes) {
    held_bytes_ += size_bytes;
    counts.taken_bytes += size_bytes;
}

std::uint64_t MemoryShare::most_bytes() const {
    base::Lock const lock(process_->mutex);
    return most(process_->counts);
}

std::uint64_t MemoryShare::excess_bytes() const {
    base::Lock const lock(process_->mutex);
    auto const taken = process_->counts.taken_bytes;
    auto const over = taken - std::min(limit_bytes_, taken);
    return std::min(over, held_bytes_ - std::min(held_bytes_, part_bytes(process_->counts)));
}

std::uint64_t MemoryShare::take(std::uint64_t size_bytes) {
    base::Lock const lock(process_->mutex);
    auto const most_bytes = most(process_->counts);
    auto const bytes = std::min(size_bytes, most_bytes - std::min(most_bytes, held_bytes_));
    add(process_->counts, bytes);
    return bytes;
}

void MemoryShare::exceed(std::uint64_t size_bytes) {
    base::Lock const lock(process_->mutex);
    add(process_->counts, size_bytes);
}

void MemoryShare::give(std::uint64_t size_bytes) {
    base::Lock const lock(process_->mutex);
    THALWEG_ASSERT(size_bytes <= held_bytes_ && held_bytes_ <= process_->counts.taken_bytes,
                   "a producer gives back what it has taken");
    held_bytes_ -= size_bytes;
    process_->counts.taken_bytes -= size_bytes;
}

std::optional<MemoryShare::Need> MemoryShare::need_beyond_budget() const {
    base::Lock const lock(process_->mutex);
    if (process_->counts.least_bytes <= limit_bytes_) return std::nullopt;
    return Need{process_->counts.least_bytes, process_->counts.producers};
}

std::uint64_t MemoryShare::taken_in_process() {
    auto& process = this_process();
    base::Lock const lock(process.mutex);
    return process.counts.taken_bytes;
}

} // namespace thalweg::dataset
