#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "thalweg/base/clock.h"
#include "thalweg/dataset/merge/merge.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace dataset;

// Python's signal handlers run between clusters, but not so often that this costs others the GIL.
void run_signal_handlers(std::uint64_t& next_ns) {
    constexpr std::uint64_t kIntervalNs = 50'000'000;
    if (base::monotonic_ns() < next_ns) return;
    nb::gil_scoped_acquire const gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    next_ns = base::monotonic_ns() + kIntervalNs;
}

MergeResult merge_files(std::vector<std::string> const& inputs, std::string const& out, bool force,
                        std::map<std::string, std::string> const& metadata, std::string const& beside) {
    std::uint64_t next_ns = 0;
    return merge(inputs, out,
                 {.force = force,
                  .while_copying = [&] { run_signal_handlers(next_ns); },
                  .metadata = metadata,
                  .beside = beside});
}

} // namespace

void bind_merge(nb::module_& module) {
    bind_struct<&MergedTableReport::table, &MergedTableReport::rows, &MergedTableReport::clusters,
                &MergedTableReport::pages>(module, "MergedTableReport");
    bind_struct<&MergeResult::path, &MergeResult::tables, &MergeResult::units, &MergeResult::copied_bytes,
                &MergeResult::file_bytes>(module, "MergeResult")
        .def_ro("problems", &MergeResult::left_out);
    module.def("merge", merge_files, nb::arg("inputs"), nb::arg("out"), nb::arg("force"), nb::arg("metadata"),
               nb::arg("beside"), nb::call_guard<nb::gil_scoped_release>());
}

} // namespace thalweg::bind
