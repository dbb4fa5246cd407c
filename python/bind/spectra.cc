// Coincidences between detectors.
#include <algorithm>
#include <cstring>

#include "bind.h"
#include "buffer.h"
#include "record_class.h"
#include "thalweg/base/error.h"
#include "thalweg/spectra/coincidences.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace spectra;

template <typename Value> std::span<Value const> numbers_of(Buffer const& buffer) {
    return {reinterpret_cast<Value const*>(buffer.bytes().data()), buffer.bytes().size() / sizeof(Value)};
}

void add_hits(Coincidences& coincidences, std::uint32_t detector, EnergyWindows const& windows, nb::object times,
              nb::object energies, std::int64_t delay_ps) {
    Buffer const of_times(times), of_energies(energies);
    nb::gil_scoped_release const released;
    coincidences.add(detector, windows, numbers_of<std::int64_t>(of_times), numbers_of<float>(of_energies), delay_ps);
}

void copy_histogram(Coincidences const& coincidences, nb::object into) {
    Buffer const buffer(into, PyBUF_WRITABLE);
    auto const histogram = std::as_bytes(coincidences.histogram());
    if (buffer.bytes().size() != histogram.size()) base::fail_usage({"the array is not as large as the histogram", ""});
    std::copy(histogram.begin(), histogram.end(), buffer.bytes().begin());
}

} // namespace

void bind_spectra(nb::module_& module) {
    bind_settable<&EnergyWindows::start_begin, &EnergyWindows::start_end, &EnergyWindows::stop_begin,
                  &EnergyWindows::stop_end>(module, "EnergyWindows");
    bind_settable<&CoincidenceOptions::detectors, &CoincidenceOptions::begin_ps, &CoincidenceOptions::bin_ps,
                  &CoincidenceOptions::bins, &CoincidenceOptions::kept_hits>(module, "CoincidenceOptions");
    bind_record<&CoincidenceCounts::hits, &CoincidenceCounts::starts, &CoincidenceCounts::stops,
                &CoincidenceCounts::coincidences, &CoincidenceCounts::late>(module, "CoincidenceCounts");
    nb::class_<Coincidences>(module, "Coincidences")
        .def(nb::init<CoincidenceOptions const&>(), nb::arg("options"))
        .def("add", &add_hits, nb::arg("detector"), nb::arg("windows"), nb::arg("times"), nb::arg("energies"),
             nb::arg("delay_ps"))
        .def("pair", &Coincidences::pair, nb::call_guard<nb::gil_scoped_release>())
        .def("copy_histogram", &copy_histogram, nb::arg("into"))
        .def_prop_ro("counts", [](Coincidences const& it) { return it.counts(); });
}

} // namespace thalweg::bind
