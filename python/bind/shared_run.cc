#include "thalweg/dataset/shared_run.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include "bind.h"
#include "ranks.h"
#include "signals.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace dataset;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

constexpr std::uint64_t kForEverNs = std::uint64_t{1} << 62;

// A run and what its ranks speak by.
struct PythonSharedRun {
    explicit PythonSharedRun(nb::handle ranks) : comm(ranks) {}

    PythonCommunicator comm;
    std::unique_ptr<SharedRun> run;
};

std::unique_ptr<PythonSharedRun> create_over(nb::object ranks, std::string const& path,
                                             std::optional<std::string> const& schema, CreateOptions const& options,
                                             std::map<std::string, std::string> metadata, bool resumes) {
    auto shared = std::make_unique<PythonSharedRun>(ranks);
    nb::gil_scoped_release const released;
    auto interruptible = options;
    interruptible.nodes.while_waiting = signal_check();
    std::optional<model::Schema> given;
    if (schema) given = model::schema_from_json(*schema);
    shared->run = resumes ? SharedRun::resume(shared->comm, path, std::move(given), std::move(interruptible))
                          : SharedRun::create(shared->comm, path, std::move(given.value()), std::move(interruptible),
                                              std::move(metadata));
    return shared;
}

void refuse_over(nb::object ranks, std::string const& path, nb::object error) {
    PythonCommunicator comm(ranks);
    auto const why = as_thrown(error);
    nb::gil_scoped_release const released;
    SharedRun::refuse(comm, path, why);
}

void abandon(PythonSharedRun& self, nb::object error) {
    auto const why = as_thrown(error);
    nb::gil_scoped_release const released;
    self.run->abandon(why);
}

} // namespace

void bind_shared_run(nb::module_& module) {
    nb::class_<PythonSharedRun>(module, "SharedRun")
        .def_prop_ro("path", [](PythonSharedRun const& self) { return self.run->path(); })
        .def_prop_ro("schema", [](PythonSharedRun const& self) { return model::to_json(self.run->schema()); })
        .def(
            "producer", [](PythonSharedRun& self, std::string const& table) { return self.run->producer(table); },
            nb::arg("table"), WithoutGil())
        .def(
            "work_units", [](PythonSharedRun& self) -> WorkUnits& { return self.run->work_units(); },
            nb::rv_policy::reference_internal)
        .def(
            "close", [](PythonSharedRun& self) { return self.run->close(kForEverNs); }, WithoutGil())
        .def("abandon", abandon, nb::arg("error"));
    module.def("create_over", create_over, nb::arg("ranks"), nb::arg("path"), nb::arg("schema").none(),
               nb::arg("options"), nb::arg("metadata"), nb::arg("resume"));
    module.def("refuse_over", refuse_over, nb::arg("ranks"), nb::arg("path"), nb::arg("error"));
}

} // namespace thalweg::bind
