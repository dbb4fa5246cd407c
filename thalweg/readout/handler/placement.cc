#include "thalweg/readout/handler/placement.h"

#include <algorithm>

#include "thalweg/readout/handler/pinning.h"

namespace thalweg::readout {
namespace {

// Returns the same as build_threads(), for a machine that need not be this one.
std::uint32_t build_threads_on(machine::Topology const& topology, HandlerConfig const& config) {
    if (config.threads != 0) return config.threads;
    auto const groups = static_cast<std::uint32_t>(config.groups.size());
    return std::max(1u, std::min(groups, topology.processor_count()));
}

} // namespace

machine::Plan place(std::vector<HandlerConfig> handlers, machine::Topology const& topology) {
    for (auto& handler : handlers) handler.threads = build_threads_on(topology, handler);
    machine::Plan plan{.warnings = resolve_pinning(handlers, topology)};
    for (auto const& handler : handlers) {
        auto const add = [&](char const* role, std::uint32_t threads, auto const& processors) {
            for (std::uint32_t i = 0; i < threads; ++i) {
                machine::Placement placement{handler.name, role, i, 0, {}};
                if (i < processors.size()) placement.processors = processors[i];
                if (!placement.processors.empty())
                    placement.chiplet = topology.chiplet_of(placement.processors[0]).value_or(0);
                plan.placements.push_back(std::move(placement));
            }
        };
        add("build", handler.threads, handler.build_processors);
        add("serve", handler.server.threads, handler.serve_processors);
    }
    return plan;
}

} // namespace thalweg::readout
