// The processors of this machine, or of a described one: which share a cache, and which share a memory node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::machine {

// Cores that share a last-level cache: a core complex die of an EPYC, or all of a small machine.
struct Chiplet {
    std::uint32_t numa_node = 0;
    std::uint32_t package = 0;
    // For each core the numbers of its hardware threads (as the kernel counts them).
    std::vector<std::vector<std::uint32_t>> cores;
    std::uint64_t cache_bytes = 0;
};

struct Topology {
    std::string source; // "this machine", or the synthetic description
    std::vector<Chiplet> chiplets;
    bool is_part = false; // this process may use only some of the machine's processors

    std::uint32_t core_count() const;
    std::uint32_t processor_count() const; // hardware threads
    // Returns the number of the chiplet that has this processor.
    std::optional<std::uint32_t> chiplet_of(std::uint32_t processor) const;
};

// Returns this machine if `synthetic` is empty, restricted to what this process may use. Otherwise parses hwloc's
// synthetic description, such as "pack:2 numa:1 l3:12 core:8 pu:2". Throws base::UsageError if hwloc does not
// understand it.
Topology discover(std::string const& synthetic = "");

} // namespace thalweg::machine
