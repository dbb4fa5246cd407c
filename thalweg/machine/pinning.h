// Which thread runs where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/machine/topology.h"

namespace thalweg::machine {

// One application: its threads by role, the first role nearest to its data.
struct Demand {
    std::string application;
    struct Role {
        std::string name;
        std::uint32_t threads = 1;
    };
    std::vector<Role> roles;
};

struct Placement {
    std::string application;
    std::string role;
    std::uint32_t thread = 0;
    std::uint32_t chiplet = 0;
    std::vector<std::uint32_t> processors; // it may run on any of these; empty: anywhere
};

struct Plan {
    std::vector<Placement> placements;
    // What does not fit: "dh12 shares chiplet 0 with dh0 (12 chiplets, 13 applications)".
    std::vector<std::string> warnings;
};

// An application goes to one chiplet, one after the other; its threads get a core each while there are cores, then
// share hardware threads, then cores. Applications share a chiplet only when there are more of them than chiplets.
// A thread that has a core for itself may use all of its hardware threads.
Plan plan(Topology const& topology, std::vector<Demand> const& demands);

// "build=0-2,serve=3,4": processors by role; one each where there are as many as threads, else any of them for every
// thread; anywhere for roles that are not named. Throws base::UsageError; also where the topology has no such
// processor.
std::vector<Placement> parse_pinning(std::string const& text, Demand const& demand, Topology const& topology);

// "0-2,5", as taskset and the kernel write it.
std::string processors_text(std::vector<std::uint32_t> processors);

// Of the calling thread. Throws base::SystemError, and changes nothing, where the kernel does not give all of them.
// Empty: does nothing.
void pin_this_thread(std::vector<std::uint32_t> const& processors);
// Where the calling thread may run: to check that a pin holds.
std::vector<std::uint32_t> processors_of_this_thread();

} // namespace thalweg::machine
