// Decides which thread runs where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/machine/topology.h"

namespace thalweg::machine {

// The threads of one application by role; the first role is the one nearest to its data.
struct Demand {
    std::string application;
    struct ThreadRole {
        std::string name;
        std::uint32_t threads = 1;
    };
    std::vector<ThreadRole> roles;
};

struct Placement {
    std::string application;
    std::string role;
    std::uint32_t thread = 0;
    std::uint32_t chiplet = 0;
    std::vector<std::uint32_t> processors; // the thread may run on any of these; empty: anywhere
};

struct Plan {
    std::vector<Placement> placements;
    // A warning says what does not fit: "dh12 shares chiplet 0 with dh0 (12 chiplets, 13 applications)".
    std::vector<std::string> warnings;
};

// Places each application on one chiplet, in turn. Its threads get one core each while there are cores, then share
// hardware threads, then cores. Applications share a chiplet only if there are more applications than chiplets. A
// thread that has a core for itself may use all of its hardware threads.
Plan plan(Topology const& topology, std::vector<Demand> const& demands);

// Parses "build=0-2,serve=3,4", the processors by role. If there are as many as threads, each thread gets one;
// otherwise every thread may use any of them. Roles that are not named run anywhere. Throws base::UsageError, also if
// the topology has no such processor.
std::vector<Placement> parse_pinning(std::string const& text, Demand const& demand, Topology const& topology);

// Returns "0-2,5", as taskset and the kernel write it.
std::string processors_text(std::vector<std::uint32_t> processors);

// Pins the calling thread. Throws base::SystemError, and changes nothing, if the kernel does not give all of the
// processors. Does nothing if `processors` is empty.
void pin_this_thread(std::vector<std::uint32_t> const& processors);
// Returns where the calling thread may run, to check that a pin is in effect.
std::vector<std::uint32_t> processors_of_this_thread();

} // namespace thalweg::machine
