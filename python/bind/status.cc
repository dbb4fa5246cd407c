// How runs are that are being written: to the process that keeps them, and to all others.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "thalweg/dataset/read/run_status.h"
#include "thalweg/dataset/run/commit_status.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace dataset;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

std::string_view name_of(SlotState state) {
    switch (state) {
    case SlotState::attaching:
        return "attaching";
    case SlotState::active:
        return "active";
    case SlotState::finished:
        return "finished";
    case SlotState::settled:
        return "settled";
    case SlotState::free:
        break;
    }
    return "free";
}

std::string_view state_of(NodeStatus const& node) {
    switch (node.writers.state) {
    case WriterState::alive:
        return node.is_closing ? "closing" : "written";
    case WriterState::ended:
        return "left";
    case WriterState::gone:
    case WriterState::unknown:
        break;
    }
    return "unknown";
}

double seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

double waited(Counts const& counts) { return seconds(counts[static_cast<std::size_t>(Count::append_wait_ns)]); }

void bind_producers(nb::module_& module) {
    bind_struct<&ProducerStatus::table, &ProducerStatus::rows, &ProducerStatus::number, &ProducerStatus::named,
                &ProducerStatus::staging_fill>(module, "ProducerStatus")
        .def_prop_ro("pid", [](ProducerStatus const& status) { return status.process.pid; })
        .def_prop_ro("state", [](ProducerStatus const& status) { return name_of(status.state); })
        .def_prop_ro("waited", [](ProducerStatus const& status) { return waited(status.counts); });
    bind_struct<&EndedProducers::producers, &EndedProducers::died, &EndedProducers::abandoned, &EndedProducers::rows,
                &EndedProducers::named>(module, "EndedProducers")
        .def_prop_ro("waited", [](EndedProducers const& ended) { return waited(ended.counts); });
    bind_struct<&AbandonedStatus::number, &AbandonedStatus::table, &AbandonedStatus::rows, &AbandonedStatus::reason>(
        module, "AbandonedStatus");
    bind_struct<&WritingProducer::status, &WritingProducer::is_alive>(module, "WritingProducer");
}

void bind_seen_from_outside(nb::module_& module) {
    bind_struct<&NodeFigures::producers, &NodeFigures::ended, &NodeFigures::pages, &NodeFigures::claimed_bytes,
                &NodeFigures::journal_bytes, &NodeFigures::units_committed, &NodeFigures::units_not_durable,
                &NodeFigures::memory, &NodeFigures::failure, &NodeFigures::names_without_room>(module, "NodeFigures")
        .def_prop_ro("durable_lag", [](NodeFigures const& figures) { return seconds(figures.durable_lag_ns); })
        .def_prop_ro("sync_time", [](NodeFigures const& figures) { return seconds(figures.sync_ns); })
        .def_prop_ro("oldest_unit_age",
                     [](NodeFigures const& figures) { return seconds(figures.units_oldest_age_ns); });
    bind_struct<&NodeStatus::host, &NodeStatus::figures>(module, "NodeStatus")
        .def_prop_ro("node", [](NodeStatus const& status) { return status.node + 1; })
        .def_prop_ro("state", state_of)
        .def_prop_ro("why", [](NodeStatus const& status) { return status.writers.why; })
        .def_prop_ro("pid", [](NodeStatus const& status) {
            return status.committer == 0 ? std::nullopt : std::optional(status.committer);
        });
    bind_struct<&RunStatus::is_closed, &RunStatus::nodes>(module, "RunStatus");
    module.def("status_of", &dataset::status_of, nb::arg("reader"), WithoutGil());
}

} // namespace

void bind_status(nb::module_& module) {
    bind_producers(module);
    bind_struct<&CommitStatus::abandoned, &CommitStatus::producers, &CommitStatus::ended,
                &CommitStatus::units_committed, &CommitStatus::units_not_durable, &CommitStatus::pages,
                &CommitStatus::claimed_bytes, &CommitStatus::journal_bytes, &CommitStatus::durable_lag_ns,
                &CommitStatus::memory, &CommitStatus::memory_need, &CommitStatus::failure, &CommitStatus::has_failed>(
        module, "CommitStatus")
        .def_prop_ro("oldest_unit_age", [](CommitStatus const& status) { return seconds(status.units_oldest_age_ns); })
        .def_prop_ro("durable_lag", [](CommitStatus const& status) { return seconds(status.durable_lag_ns); });
    bind_seen_from_outside(module);
}

} // namespace thalweg::bind
