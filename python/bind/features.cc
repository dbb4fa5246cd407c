// Features of pulses: of rows that are recorded, and of samples that are in memory.
#include <cstdint>
#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "buffer.h"
#include "record_class.h"
#include "thalweg/base/error.h"
#include "thalweg/features/extractor.h"
#include "thalweg/features/feature_source.h"
#include "thalweg/model/schema.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace features;

template <typename Value> std::span<Value> items_of(Buffer const& buffer) {
    return {reinterpret_cast<Value*>(buffer.bytes().data()), buffer.bytes().size() / sizeof(Value)};
}

// The arrays of one call: one pulse for each length.
struct PulseArrays {
    Buffer values, lengths, periods, energies, times, flags;
};

void extract_pulses(FeatureExtractor& extractor, PulseArrays const& arrays) {
    auto rest = items_of<std::uint16_t const>(arrays.values);
    auto const lengths = items_of<std::uint64_t const>(arrays.lengths);
    auto const periods = items_of<double const>(arrays.periods);
    auto const energies = items_of<float>(arrays.energies);
    auto const times = items_of<double>(arrays.times);
    auto const flags = items_of<std::uint16_t>(arrays.flags);
    if (periods.size() != lengths.size() || energies.size() != lengths.size() || times.size() != lengths.size() ||
        flags.size() != lengths.size())
        base::fail_usage({"the arrays of pulses are not equally long"});
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (lengths[i] > rest.size()) base::fail_usage({"there are fewer samples than the lengths say"});
        auto const pulse = extractor.of(rest.first(lengths[i]), periods[i]);
        rest = rest.subspan(lengths[i]);
        energies[i] = static_cast<float>(pulse.energy);
        times[i] = pulse.time_ns;
        flags[i] = pulse.flags;
    }
}

void extract(FeatureExtractor& extractor, nb::object values, nb::object lengths, nb::object periods,
             nb::object energies, nb::object times, nb::object flags) {
    PulseArrays const arrays{Buffer(values),
                             Buffer(lengths),
                             Buffer(periods),
                             Buffer(energies, PyBUF_WRITABLE),
                             Buffer(times, PyBUF_WRITABLE),
                             Buffer(flags, PyBUF_WRITABLE)};
    nb::gil_scoped_release const released;
    extract_pulses(extractor, arrays);
}

// Rows of one stream of a source, as bytes: the columns of a batch.
std::optional<std::vector<nb::bytes>> next_rows(source::StreamReader& reader) {
    source::Batch batch;
    {
        nb::gil_scoped_release const released;
        if (!reader.next(batch, 0)) return {};
    }
    std::vector<nb::bytes> columns;
    for (auto const& column : batch.columns) columns.emplace_back(column.data(), column.size());
    return columns;
}

// Returns the schema whose tables have features, and the names of these tables.
std::pair<std::string, std::vector<std::string>> schema_with_features(std::string const& schema,
                                                                      FeatureRowOptions const& options) {
    auto made = model::schema_from_json(schema);
    std::vector<std::string> names;
    for (auto& table : made.tables) {
        if (!has_samples(table, options)) continue;
        table = FeatureRows(table, options).table();
        names.push_back(table.name);
    }
    return {model::to_json(made), names};
}

} // namespace

void bind_features(nb::module_& module) {
    bind_settable<&FeatureOptions::bits, &FeatureOptions::is_negative, &FeatureOptions::baseline_ns,
                  &FeatureOptions::gate_begin_ns, &FeatureOptions::gate_end_ns, &FeatureOptions::fraction,
                  &FeatureOptions::smooth_ns, &FeatureOptions::threshold_adc>(module, "FeatureOptions")
        .def("least_adc", &FeatureOptions::least_adc);
    bind_settable<&FeatureRowOptions::pulse, &FeatureRowOptions::waveform, &FeatureRowOptions::timestamp,
                  &FeatureRowOptions::sample_period_ns, &FeatureRowOptions::keep_one_of>(module, "FeatureRowOptions");
    nb::class_<FeatureExtractor>(module, "FeatureExtractor")
        .def(
            "__init__",
            [](FeatureExtractor* self, FeatureOptions const& options, bool is_signed) {
                new (self) FeatureExtractor(options, is_signed);
            },
            nb::arg("options"), nb::arg("is_signed"))
        .def("extract", &extract, nb::arg("values"), nb::arg("lengths"), nb::arg("periods"), nb::arg("energies"),
             nb::arg("times"), nb::arg("flags"));
    module.def("with_features", &with_features, nb::arg("source"), nb::arg("options"), nb::arg("configuration"),
               nb::keep_alive<0, 1>());
    module.def("waveforms_text", &waveforms_text, nb::arg("options"));
    module.def("schema_with_features", &schema_with_features, nb::arg("schema"), nb::arg("options"));
    nb::class_<source::StreamReader>(module, "StreamReader").def("next", &next_rows);
    module.def(
        "open_stream", [](source::Source& source, std::size_t stream) { return source.open(stream); },
        nb::arg("source"), nb::arg("stream"), nb::call_guard<nb::gil_scoped_release>());
}

} // namespace thalweg::bind
