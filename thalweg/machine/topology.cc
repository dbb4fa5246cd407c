#include "thalweg/machine/topology.h"

#include <algorithm>
#include <cerrno>
#include <hwloc.h>
#include <map>
#include <memory>
#include <unistd.h>

#include "thalweg/base/error.h"

namespace thalweg::machine {
namespace {

using TopologyHandle = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)>;

TopologyHandle load(std::string const& synthetic) {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) base::fail_system({"cannot read the topology of the processors"}, errno);
    TopologyHandle handle(raw, hwloc_topology_destroy);
    if (!synthetic.empty() && hwloc_topology_set_synthetic(raw, synthetic.c_str()) != 0) {
        base::fail_usage({"\"" + synthetic + "\" describes no machine", "hwloc does not understand it",
                          "write levels from the outside in, such as \"pack:2 numa:1 l3:12 core:8 pu:2\""});
    }
    if (hwloc_topology_load(raw) != 0) base::fail_system({"cannot read the topology of the processors"}, errno);
    return handle;
}

// A batch system or taskset may have left only a part of the machine to this process; hwloc considers control groups
// itself.
void restrict_to_ours(hwloc_topology_t topology) {
    Bitmap const ours(hwloc_bitmap_alloc(), hwloc_bitmap_free);
    if (hwloc_get_cpubind(topology, ours.get(), HWLOC_CPUBIND_PROCESS) == 0) {
        hwloc_topology_restrict(topology, ours.get(), 0);
    }
}

hwloc_obj_type_t type_of_cores(hwloc_topology_t topology) {
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

hwloc_obj_t last_level_cache(hwloc_obj_t core) {
    hwloc_obj_t last = nullptr;
    for (auto above = core->parent; above != nullptr; above = above->parent) {
        if (hwloc_obj_type_is_dcache(above->type)) last = above;
    }
    return last;
}

// Returns what a core shares with others: its last-level cache; without one, its package; and if it is alone there, as
// virtual machines often report for each processor, whatever surrounds it.
hwloc_obj_t home_of(hwloc_topology_t topology, hwloc_obj_t core) {
    auto home = last_level_cache(core);
    if (home == nullptr) home = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
    if (home == nullptr) home = hwloc_get_root_obj(topology);
    auto const type = type_of_cores(topology);
    while (home->parent != nullptr && hwloc_get_nbobjs_inside_cpuset_by_type(topology, home->cpuset, type) == 1) {
        home = home->parent;
    }
    return home;
}

Chiplet describe(hwloc_topology_t topology, hwloc_obj_t home, hwloc_obj_t core) {
    Chiplet chiplet;
    chiplet.numa_node = static_cast<std::uint32_t>(std::max(0, hwloc_bitmap_first(core->nodeset)));
    auto const package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
    if (package != nullptr) chiplet.package = package->logical_index;
    if (hwloc_obj_type_is_dcache(home->type)) chiplet.cache_bytes = home->attr->cache.size;
    return chiplet;
}

std::vector<std::uint32_t> hardware_threads(hwloc_obj_t core) {
    std::vector<std::uint32_t> threads;
    for (int i = hwloc_bitmap_first(core->cpuset); i >= 0; i = hwloc_bitmap_next(core->cpuset, i)) {
        threads.push_back(static_cast<std::uint32_t>(i));
    }
    return threads;
}

} // namespace

std::uint32_t Topology::core_count() const {
    std::size_t count = 0;
    for (auto const& chiplet : chiplets) count += chiplet.cores.size();
    return static_cast<std::uint32_t>(count);
}

std::uint32_t Topology::processor_count() const {
    std::size_t count = 0;
    for (auto const& chiplet : chiplets) {
        for (auto const& core : chiplet.cores) count += core.size();
    }
    return static_cast<std::uint32_t>(count);
}

std::optional<std::uint32_t> Topology::chiplet_of(std::uint32_t processor) const {
    for (std::uint32_t number = 0; number < chiplets.size(); ++number) {
        for (auto const& core : chiplets[number].cores) {
            if (std::ranges::find(core, processor) != core.end()) return number;
        }
    }
    return std::nullopt;
}

Topology discover(std::string const& synthetic) {
    auto const handle = load(synthetic);
    if (synthetic.empty()) restrict_to_ours(handle.get());
    Topology topology{.source = synthetic.empty() ? "this machine" : synthetic};
    std::map<hwloc_obj_t, std::size_t> places;
    auto const type = type_of_cores(handle.get());
    for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(handle.get(), type, core)) != nullptr;) {
        auto const home = home_of(handle.get(), core);
        auto const [place, is_new] = places.try_emplace(home, topology.chiplets.size());
        if (is_new) topology.chiplets.push_back(describe(handle.get(), home, core));
        topology.chiplets[place->second].cores.push_back(hardware_threads(core));
    }
    if (synthetic.empty())
        topology.is_part = topology.processor_count() < std::max(0L, ::sysconf(_SC_NPROCESSORS_ONLN));
    return topology;
}

} // namespace thalweg::machine
