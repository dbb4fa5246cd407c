#include "thalweg/readout/handler/pinning.h"

#include <algorithm>

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

std::vector<std::string> resolve_own_pinning(std::vector<HandlerConfig>& handlers, std::string const& own,
                                             machine::Topology const& topology) {
    auto const is_automatic = [](HandlerConfig const& it) { return it.pinning == "auto"; };
    auto const automatic = static_cast<std::size_t>(std::ranges::count_if(handlers, is_automatic));
    auto const is_own = [&](HandlerConfig const& it) { return it.name == own; };
    auto const place = std::ranges::find_if(handlers, is_own);
    if (!topology.is_part || automatic <= topology.chiplets.size() || place == handlers.end() || !is_automatic(*place))
        return resolve_pinning(handlers, topology);
    std::vector<HandlerConfig> alone{*place};
    auto warnings = resolve_pinning(alone, topology);
    *place = alone[0];
    return warnings;
}

} // namespace thalweg::readout
