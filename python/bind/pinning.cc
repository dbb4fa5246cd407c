#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "thalweg/machine/latency.h"
#include "thalweg/readout/handler/placement.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace machine;
using Handlers = std::vector<readout::HandlerConfig>;

// A pinning that is not empty overrides that of the handlers.
Plan place(Handlers handlers, Topology const& topology, std::string const& pinning) {
    for (auto& handler : handlers) {
        if (!pinning.empty()) handler.pinning = pinning;
    }
    return readout::place(std::move(handlers), topology);
}

Handlers alike(std::uint32_t count, std::uint32_t build_threads, std::uint32_t serve_threads) {
    Handlers handlers(count);
    for (std::size_t i = 0; i < handlers.size(); ++i) {
        handlers[i].name = "dh" + std::to_string(i);
        handlers[i].threads = build_threads;
        handlers[i].server.threads = serve_threads;
    }
    return handlers;
}

} // namespace

void bind_pinning(nb::module_& module) {
    bind_record<&Chiplet::numa_node, &Chiplet::package, &Chiplet::cores, &Chiplet::cache_bytes>(module, "Chiplet");
    nb::class_<Topology>(module, "Topology")
        .def_ro("source", &Topology::source)
        .def_ro("chiplets", &Topology::chiplets)
        .def_prop_ro("core_count", &Topology::core_count)
        .def_prop_ro("processor_count", &Topology::processor_count);
    bind_record<&Placement::application, &Placement::role, &Placement::thread, &Placement::chiplet,
                &Placement::processors>(module, "Placement");
    bind_record<&Plan::placements, &Plan::warnings>(module, "Plan");
    module.def("discover", &discover, nb::arg("synthetic"));
    module.def("processors_text", &processors_text, nb::arg("processors"));
    module.def("latency_ns", &latency_ns, nb::arg("first"), nb::arg("second"), nb::arg("rounds"),
               nb::arg("exchanges") = 1000, nb::call_guard<nb::gil_scoped_release>());
    module.def(
        "place_configured",
        [](std::string_view json, Topology const& topology, std::string const& pinning) {
            return place(readout::parse_config(json), topology, pinning);
        },
        nb::arg("json"), nb::arg("topology"), nb::arg("pinning"));
    module.def(
        "place_alike",
        [](std::uint32_t count, std::uint32_t build_threads, std::uint32_t serve_threads, Topology const& topology,
           std::string const& pinning) { return place(alike(count, build_threads, serve_threads), topology, pinning); },
        nb::arg("count"), nb::arg("build_threads"), nb::arg("serve_threads"), nb::arg("topology"), nb::arg("pinning"));
}

} // namespace thalweg::bind
