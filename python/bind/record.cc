#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/process.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/record/recorded.h"
#include "thalweg/record/worker.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace record;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

std::unique_ptr<Worker> make_worker(std::string const& handle, source::Source& source,
                                    std::vector<std::size_t> const& streams, std::string const& table_prefix) {
    return std::make_unique<Worker>(handle, source, streams, std::nullopt, table_prefix);
}

template <typename Status> std::uint64_t count_of(Status const& status, dataset::Count which) {
    return status.counts.empty() ? 0 : status.counts.at(static_cast<std::size_t>(which));
}

void bind_worker(nb::module_& module) {
    bind_struct<&source::Counters::triggers, &source::Counters::lost, &source::Counters::piled_up,
                &source::Counters::rows, &source::Counters::dead_time_ns, &source::Counters::live_time_ns,
                &source::Counters::named>(module, "Counters");
    bind_struct<&source::Remarks::missing, &source::Remarks::notes>(module, "Remarks");
    nb::class_<StreamResult>(module, "StreamResult")
        .def_ro("name", &StreamResult::name)
        .def_ro("rows", &StreamResult::rows)
        .def_ro("counters", &StreamResult::counters);
    nb::class_<Worker>(module, "Worker")
        .def("run", &Worker::run, WithoutGil())
        .def("stop", &Worker::stop)
        .def("pause", &Worker::pause)
        .def("resume", &Worker::resume)
        .def("results", &Worker::results)
        .def("remarks", &Worker::remarks);
    module.def("make_worker", make_worker, nb::arg("handle"), nb::arg("source"), nb::arg("streams"),
               nb::arg("table_prefix") = "", WithoutGil());
    module.def("open_recorded", open_recorded, nb::arg("path"), nb::arg("options"),
               nb::arg("compass") = source::CompassOptions(), WithoutGil());
}

void bind_machine(nb::module_& module) {
    module.def("parse_size_bytes", &base::parse_size_bytes, nb::arg("text"));
    module.def("parse_duration_ns", &base::parse_duration_ns, nb::arg("text"));
    module.def("monotonic_ns", &base::monotonic_ns);
    module.def("utc_now", &base::utc_now);
    module.def("host_name", &base::host_name);
}

} // namespace

void bind_record(nb::module_& module) {
    bind_worker(module);
    bind_machine(module);
    nb::enum_<dataset::Count>(module, "Count")
        .value("appended_bytes", dataset::Count::appended_bytes)
        .value("stored_bytes", dataset::Count::stored_bytes)
        .value("paged_bytes", dataset::Count::paged_bytes);
    module.def("create_next", &dataset::Writer::create_next, nb::arg("writer"), nb::arg("path"), nb::arg("options"),
               nb::arg("metadata"), WithoutGil());
    module.def("continue_in", &dataset::Writer::continue_in, nb::arg("writer"), nb::arg("next"));
    module.def("count", count_of<dataset::ProducerStatus>, nb::arg("status"), nb::arg("which"),
               "Returns what a producer has counted so far.");
    module.def("count", count_of<dataset::EndedProducers>, nb::arg("status"), nb::arg("which"),
               "Returns what all ended producers of a table have counted.");
}

} // namespace thalweg::bind
