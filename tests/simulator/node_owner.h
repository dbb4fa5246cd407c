// The process that brought a node into a run: it asks for the node's status, and ends its part of the run. It notes
// what it was promised.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tests/simulator/node_history.h"

namespace thalweg::simulator {

class NodeOwner {
  public:
    // `handle` is that of the node, to which others attach. They exist as long as `others` returns true.
    NodeOwner(World& world, NodeScenario const& scenario, Random& random, NodePromises& promises, std::uint32_t node,
              std::string& handle)
        : world_(world), scenario_(scenario), random_(random), promises_(promises), node_(node), handle_(handle) {}

    // Returns false if the node is not in the run.
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

// Reads the file, and reports a fault if it was complete before and has changed.
void check_complete(World& world, std::string const& path, NodePromises& promises, Blame const& blame);

} // namespace thalweg::simulator
