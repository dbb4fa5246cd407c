// The memory that the producers of this process, of all its outputs, have for rows which are in no page yet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace thalweg::dataset {

// What one producer holds of it. A producer may always have its part, the budget divided by the producers that there
// are; more where the others leave it. One that comes later finds its part taken, perhaps: then the budget is exceeded
// until those with more than their part give the rest back. Used by one thread at a time.
class MemoryShare {
  public:
    // `limit_bytes`: the budget of the process, as this producer's run has it. `least_bytes`: may be had in any case.
    MemoryShare(std::uint64_t limit_bytes, std::uint64_t least_bytes);
    ~MemoryShare();
    MemoryShare(MemoryShare const&) = delete;
    MemoryShare& operator=(MemoryShare const&) = delete;

    // Takes as much of `size_bytes` as may be had now, and returns it.
    std::uint64_t take(std::uint64_t size_bytes);
    // Takes what has to be had.
    void exceed(std::uint64_t size_bytes);
    void give(std::uint64_t size_bytes);

    std::uint64_t held_bytes() const { return held_bytes_; }
    // Returns how much it may have at present.
    std::uint64_t most_bytes() const;
    // What it holds beyond its part while the others' parts are not there.
    std::uint64_t excess_bytes() const;

    // What producers cannot do without, whatever there is.
    struct Need {
        std::uint64_t bytes = 0;
        std::uint64_t producers = 0;
    };
    // Returns what all producers of the process need; nothing if the budget has room for it.
    std::optional<Need> need_beyond_budget() const;

    static std::uint64_t taken_in_process();

  private:
    struct Process;
    struct Counts;
    static Process& this_process();

    std::uint64_t part_bytes(Counts const& counts) const;
    std::uint64_t most(Counts const& counts) const;
    void add(Counts& counts, std::uint64_t size_bytes);

    std::unique_ptr<Process> simulated_; // producers that are killed there leave nothing to the next history
    Process* process_;
    std::uint64_t limit_bytes_;
    std::uint64_t least_bytes_;
    std::uint64_t held_bytes_ = 0;
    std::uint64_t fork_generation_;
};

} // namespace thalweg::dataset
