// A recording of several nodes, from its creation to its end, as one seed has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulator/node_scenario.h"

namespace thalweg::simulator {

// What the calls of a node have said so far.
struct NodeWord {
    bool joined = false; // create() or join() has returned
    bool close_begun = false;
    bool closed = false; // close() has returned, without an error
    bool kept = false;   // abandon() has returned: what it had is in its journal
};

struct NodePromises {
    Promises rows;
    std::vector<NodeWord> nodes;
    bool goes_on = false;
    bool disk_failed = false;      // a write, a sync or a reservation
    bool recovery_begun = false;   // while a machine stood still
    std::optional<Found> complete; // what was in the file when somebody was told that it is complete

    // Somebody was told that there is a run.
    bool created() const;
    // The run survives the death of all machines: the first node was told so, or something in it is durable.
    bool is_there() const;
    bool any_closed() const;
    bool close_begun_elsewhere(std::uint32_t node) const;
    // Whether nobody can have completed the file without what is only in the memory of this node.
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
    std::vector<NodeSnapshot> snapshots; // the last one: of the end
    std::vector<std::string> faults;
    std::vector<std::string> events;
    std::uint64_t trace = 0;
    std::uint64_t turns = 0;
    std::uint64_t deaths = 0;    // of machines
    std::uint64_t stops = 0;     // of machines
    std::uint64_t recovered = 0; // while a machine stood still
    std::uint64_t nodes = 0;
};

struct Lie {
    std::string file; // of which a disk says that it has synced it, and has not
    std::uint32_t machine = kNoMachine;
};

NodeHistoryResult run_node_history(Workshop& workshop, Container container, std::uint64_t seed,
                                   std::size_t most_snapshots, Lie const& lie = {});

// What `report` must say where rows of a node that `append` had taken, or units that it had committed, are not there.
void check_what_is_lost_is_named(NodePromises const& promises, Found const& found, dataset::RunReport const& report,
                                 Blame const& blame);

} // namespace thalweg::simulator
