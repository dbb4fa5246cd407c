// A recording of several nodes, from its creation to its end, as one seed determines it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulator/node_scenario.h"

namespace thalweg::simulator {

// The results of a node's calls so far.
struct NodeWord {
    bool joined = false; // create() or join() has returned
    bool close_begun = false;
    bool closed = false; // close() has returned without an error
    bool kept = false;   // abandon() has returned: the node's rows are in its journal
};

struct NodePromises {
    Promises rows;
    std::vector<NodeWord> nodes;
    bool goes_on = false;
    bool disk_failed = false;      // a write, a sync or a reservation
    bool recovery_begun = false;   // while a machine stood still
    std::optional<Found> complete; // the content of the file when a node was told that it is complete

    // Returns whether a node was told that the run exists.
    bool created() const;
    // Returns whether the run survives the death of all machines: the first node was told so, or something in it is
    // durable.
    bool is_there() const;
    bool any_closed() const;
    bool close_begun_elsewhere(std::uint32_t node) const;
    // Returns whether the file cannot be complete without what is only in the memory of this node.
    bool is_waited_for(std::uint32_t node) const;
};

struct NodeSnapshot {
    DiskState disk;
    MemoryState memory;
    NodePromises promises;
    std::uint64_t now_ns = 0;
    std::vector<Machine> machines;
};

struct NodeHistoryResult {
    std::vector<NodeSnapshot> snapshots; // the last one is that of the end
    std::vector<std::string> faults;
    std::vector<std::string> events;
    std::uint64_t trace = 0;
    std::uint64_t turns = 0;
    std::uint64_t deaths = 0;    // of machines
    std::uint64_t stops = 0;     // of machines
    std::uint64_t recovered = 0; // recoveries while a machine stood still
    std::uint64_t nodes = 0;
};

struct Lie {
    std::string file; // the file that a disk claims to have synced, and has not
    std::uint32_t machine = kNoMachine;
};

NodeHistoryResult run_node_history(Workshop& workshop, Container container, std::uint64_t seed,
                                   std::size_t most_snapshots, Lie const& lie = {});

// Checks what `report` must name if rows of a node that `append` had taken, or units that it had committed, are
// missing.
void check_what_is_lost_is_named(NodePromises const& promises, Found const& found, dataset::RunReport const& report,
                                 Blame const& blame);

} // namespace thalweg::simulator
