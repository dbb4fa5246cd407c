#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/machine/pinning.h"

namespace thalweg::machine {
namespace {

std::size_t threads_of(Demand const& demand) {
    std::size_t threads = 0;
    for (auto const& role : demand.roles) threads += role.threads;
    return threads;
}

// Distributes all threads of one chiplet: the first thread gets the first core, and so on, around again when all are
// taken.
class Tenancy {
  public:
    Tenancy(Chiplet const& chiplet, std::uint32_t number) : chiplet_(chiplet), number_(number) {}

    void expect(Demand const& demand) {
        expected_ += threads_of(demand);
        names_ += (names_.empty() ? "" : " and ") + demand.application;
    }

    Placement settle(Demand const& demand, std::string const& role, std::uint32_t thread) {
        auto const& core = chiplet_.cores[settled_ % cores()];
        auto const turn = settled_ / cores(); // number of threads that already have this core
        auto const sharers = (expected_ - settled_ % cores() + cores() - 1) / cores();
        ++settled_;
        Placement placement{demand.application, role, thread, number_, core};
        if (sharers > 1 && sharers <= core.size()) placement.processors = {core[turn]};
        return placement;
    }

    // Returns an empty text if every thread has a core.
    std::string warning() const {
        if (expected_ <= cores()) return "";
        return fmt::format("{} threads of {} share the {} cores of chiplet {}", expected_, names_, cores(), number_);
    }

  private:
    std::size_t cores() const { return chiplet_.cores.size(); }

    Chiplet const& chiplet_;
    std::uint32_t number_;
    std::string names_;
    std::size_t expected_ = 0;
    std::size_t settled_ = 0;
};

} // namespace

Plan plan(Topology const& topology, std::vector<Demand> const& demands) {
    auto const chiplets = topology.chiplets.size();
    if (chiplets == 0) base::fail_usage({"there is nothing to plan with", "the topology has no processors"});
    std::vector<Tenancy> tenancies;
    for (auto const& chiplet : topology.chiplets) {
        tenancies.emplace_back(chiplet, static_cast<std::uint32_t>(tenancies.size()));
    }
    Plan result;
    for (std::size_t i = 0; i < demands.size(); ++i) {
        tenancies[i % chiplets].expect(demands[i]);
        if (i < chiplets) continue;
        result.warnings.push_back(fmt::format("{} shares chiplet {} with {} ({} chiplets, {} applications)",
                                              demands[i].application, i % chiplets, demands[i % chiplets].application,
                                              chiplets, demands.size()));
    }
    for (std::size_t i = 0; i < demands.size(); ++i) {
        for (auto const& role : demands[i].roles) {
            for (std::uint32_t thread = 0; thread < role.threads; ++thread) {
                result.placements.push_back(tenancies[i % chiplets].settle(demands[i], role.name, thread));
            }
        }
    }
    for (auto const& tenancy : tenancies) {
        if (auto text = tenancy.warning(); !text.empty()) result.warnings.push_back(std::move(text));
    }
    return result;
}

} // namespace thalweg::machine
