// What the process does that has brought a node into a run: it asks the node how it is, and ends its part of the run.
// It notes what it was promised.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tests/simulator/node_history.h"

namespace thalweg::simulator {

class NodeOwner {
  public:
    // `handle`: of the node, for others to attach to. They are there as long as `others` says so.
    NodeOwner(World& world, NodeScenario const& scenario, Random& random, NodePromises& promises, std::uint32_t node,
              std::string& handle)
        : world_(world), scenario_(scenario), random_(random), promises_(promises), node_(node), handle_(handle) {}

    // False: the node is not in the run.
    bool come();
    void own(std::function<bool()> const& others);

  private:
    void ask();
    void close();
    bool try_to_close();
    void note_complete(dataset::RunReport const& report);
    void abandon();

    World& world_;
    NodeScenario const& scenario_;
    Random& random_;
    NodePromises& promises_;
    std::uint32_t node_;
    std::string& handle_;
    std::unique_ptr<dataset::Writer> writer_;
};

// Reads what is there, and blames where it was complete before and is another one now.
void check_complete(World& world, std::string const& path, NodePromises& promises, Blame const& blame);

} // namespace thalweg::simulator
