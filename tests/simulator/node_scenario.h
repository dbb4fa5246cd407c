// The parameters of a run of several nodes, which a seed determines before anything happens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/history.h"

namespace thalweg::simulator {

// Something that happens to a machine, so many turns after the beginning of a part of the history.
struct NodeEvent {
    enum class What : std::uint8_t { kill_process, kill_machine, stop_machine };
    enum class When : std::uint8_t { creation, run, close, completion };

    What what = What::kill_process;
    When when = When::run;
    std::uint64_t turns = 0;
    std::uint32_t machine = 0;
    std::uint64_t duration_ns = 0; // of a stop
    Survival survival;             // after a death
};

struct NodePlan {
    bool comes = true;
    bool comes_twice = false; // two processes of its machine join with its number
    std::uint64_t comes_after_ns = 0;
    std::uint64_t workers = 1;
    Scenario::End end = Scenario::End::close;
};

struct NodeScenario {
    Scenario run; // what all nodes have in common
    std::vector<Machine> machines;
    std::vector<NodePlan> nodes; // each on the machine of its number
    std::vector<NodeEvent> events;
    bool goes_on = false; // without dead nodes
    bool shares_keys = false;
    bool recovers_without_asking = false; // a process tries to recover the open run as if it were over
    bool recovers_the_stopped = false;    // once all others have ended, while a machine stands still
    std::uint64_t readers = 0;
    std::uint64_t timeout_ns = 0;
};

// Texts for a developer who replays a seed.
std::string str(NodeEvent const& event);
std::string str(NodeScenario const& scenario);

NodeScenario draw_node_scenario(Container container, std::uint64_t seed);

} // namespace thalweg::simulator
