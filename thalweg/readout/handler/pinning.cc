#include "thalweg/readout/handler/pinning.h"

namespace thalweg::readout {
namespace {

void pin_to(std::vector<machine::Placement> const& placements, HandlerConfig& handler) {
    for (auto const& placement : placements) {
        if (placement.application != handler.name) continue;
        (placement.role == "build" ? handler.build_processors : handler.serve_processors)
            .push_back(placement.processors);
    }
}

} // namespace

machine::Demand demand_of(HandlerConfig const& config) {
    return {config.name, {{"build", build_threads(config)}, {"serve", config.server.threads}}};
}

std::vector<std::string> resolve_pinning(std::vector<HandlerConfig>& handlers, machine::Topology const& topology) {
    std::vector<machine::Demand> planned;
    for (auto const& handler : handlers) {
        if (handler.pinning == "auto") planned.push_back(demand_of(handler));
    }
    auto const plan = machine::plan(topology, planned);
    for (auto& handler : handlers) {
        if (handler.pinning == "none") continue;
        pin_to(handler.pinning == "auto" ? plan.placements
                                         : machine::parse_pinning(handler.pinning, demand_of(handler), topology),
               handler);
    }
    return plan.warnings;
}

} // namespace thalweg::readout
