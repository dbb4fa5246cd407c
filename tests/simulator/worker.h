// A process that appends: plain rows, work units, or groups of units. It notes what it was promised.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulator/history.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/append/work_unit.h"

namespace thalweg::simulator {

class Worker {
  public:
    // Runs on a node whose units have keys from `first_key` on.
    Worker(World& world, Scenario const& scenario, Random& random, Promises& promises, std::uint32_t node = 0,
           std::int64_t first_key = 0)
        : world_(world), scenario_(scenario), random_(random), promises_(promises), node_(node), first_key_(first_key) {
    }

    // `handle` is that of the newest file at any time.
    void work(std::string const& handle);

  private:
    void produce(std::shared_ptr<dataset::OpenRun> const& run);
    void append(dataset::Producer& producer, std::uint64_t table, std::uint64_t who, std::uint64_t rows);
    void work_in_units(std::shared_ptr<dataset::OpenRun> const& run);
    void work_in_groups(std::shared_ptr<dataset::OpenRun> const& run);
    std::vector<std::uint64_t> fill_group(dataset::WorkUnit& group, std::int64_t number);
    void append_to(dataset::WorkUnit& unit, std::uint64_t who);
    void end(dataset::WorkUnit& unit, std::vector<std::uint64_t> const& tries);
    // The disk was full, or the memory: returns, some time later, if what failed is to be tried again.
    void wait_for_room(base::SystemError const& error);

    World& world_;
    Scenario const& scenario_;
    Random& random_;
    Promises& promises_;
    std::uint32_t node_;
    std::int64_t first_key_;
    bool is_of_units_ = false;
    std::uint64_t refused_ = 0; // appends and commits, so far
};

} // namespace thalweg::simulator
