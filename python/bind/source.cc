#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "thalweg/source/compass.h"
#include "thalweg/source/digitizer.h"
#include "thalweg/source/replay.h"

namespace thalweg::bind {

namespace nb = nanobind;
using namespace source;

void bind_source(nb::module_& module) {
    nb::class_<Rate>(module, "Rate")
        .def_static("parse", &parse_rate, nb::arg("text"))
        .def_ro("records_per_s", &Rate::records_per_s)
        .def_ro("bytes_per_s", &Rate::bytes_per_s)
        .def_prop_ro("is_max", &Rate::is_max);
    bind_settable<&DetectorOptions::place, &DetectorOptions::gain, &DetectorOptions::drift_per_hour,
                  &DetectorOptions::efficiency, &DetectorOptions::delay_ps, &DetectorOptions::time_resolution_ps,
                  &DetectorOptions::energy_resolution>(module, "DetectorOptions");
    bind_settable<&PerturbationLine::omega_per_ns, &PerturbationLine::weight2, &PerturbationLine::weight4>(
        module, "PerturbationLine");
    bind_settable<&FieldSite::fraction, &FieldSite::lines, &FieldSite::delta, &FieldSite::is_gauss, &FieldSite::axis,
                  &FieldSite::larmor_per_ns>(module, "FieldSite");
    bind_settable<&Physics::a22, &Physics::a44, &Physics::half_angle_rad, &Physics::sites, &Physics::detectors,
                  &Physics::description>(module, "Physics");
    bind_settable<&DigitizerOptions::channels, &DigitizerOptions::sample_rate_hz, &DigitizerOptions::record_samples,
                  &DigitizerOptions::seed, &DigitizerOptions::rate, &DigitizerOptions::onboard_bytes,
                  &DigitizerOptions::record_limit, &DigitizerOptions::duration_ns, &DigitizerOptions::start_ns,
                  &DigitizerOptions::waveforms, &DigitizerOptions::physics, &DigitizerOptions::activity_hz,
                  &DigitizerOptions::coincidence_fraction, &DigitizerOptions::background_fraction,
                  &DigitizerOptions::time_resolution_ps, &DigitizerOptions::energy_resolution,
                  &DigitizerOptions::pool_pulses>(module, "DigitizerOptions")
        .def_prop_rw(
            "isotope", [](DigitizerOptions const& options) { return name_of(options.isotope); },
            [](DigitizerOptions& options, std::string_view name) { options.isotope = parse_isotope(name); });
    nb::class_<ReplayOptions>(module, "ReplayOptions").def(nb::init<>()).def_rw("loops", &ReplayOptions::loops);
    nb::class_<CompassOptions>(module, "CompassOptions")
        .def(nb::init<>())
        .def_rw("header", &CompassOptions::header, nb::arg("header").none());
    nb::class_<Source>(module, "Source")
        .def_prop_ro("schema", [](Source const& source) { return model::to_json(source.schema()); })
        .def_prop_ro("metadata", &Source::metadata)
        .def_prop_ro("left_out", &Source::left_out);
    // Its pulses take seconds, in which the process shows that it works.
    module.def("make_digitizer", &make_digitizer, nb::arg("options"), nb::call_guard<nb::gil_scoped_release>());
}

} // namespace thalweg::bind
