#include "thalweg/tuning/knobs.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bind.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using tuning::Knob;
using tuning::KnobKind;
using tuning::KnobValue;

// Returns the value for Python: durations in seconds, None if the container chooses.
nb::object to_python(Knob const& knob, KnobValue const& value) {
    if (std::holds_alternative<std::monostate>(value)) return nb::none();
    if (knob.kind == KnobKind::duration) return nb::float_(static_cast<double>(std::get<std::uint64_t>(value)) / 1e9);
    return nb::cast(value);
}

std::vector<Knob> all() { return {tuning::knobs().begin(), tuning::knobs().end()}; }

} // namespace

void bind_tuning(nb::module_& module) {
    nb::class_<Knob>(module, "Knob")
        .def_ro("name", &Knob::name)
        .def_ro("about", &Knob::about)
        .def_prop_ro("type", tuning::type)
        .def_prop_ro("unit", tuning::unit)
        .def_prop_ro("range", tuning::range)
        .def_prop_ro("applies_to", tuning::applies_to)
        .def_prop_ro("may_change", tuning::may_change)
        .def_prop_ro("default", [](Knob const& knob) { return tuning::text(knob, tuning::get({}, knob)); })
        .def(
            "parse", [](Knob const& knob, std::string const& text) { return to_python(knob, parse(knob, text)); },
            nb::arg("text"))
        .def(
            "text", [](Knob const& knob, std::string const& text) { return tuning::text(knob, parse(knob, text)); },
            nb::arg("text"));
    module.def("knobs", all);
    module.def("knob", tuning::knob, nb::arg("name"), nb::rv_policy::copy);
}

} // namespace thalweg::bind
