#include <cstdint>
#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind.h"
#include "buffer.h"
#include "record_class.h"
#include "thalweg/model/schema.h"
#include "thalweg/record/lane_pump.h"
#include "thalweg/record/pulse_producer.h"
#include "thalweg/source/plug_in/device.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace source::plug_in;
using record::LanePump;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

// A pump, with the memory in which it shows what it does.
struct BoundPump {
    Buffer board;
    LanePump pump;
};

struct BoundBatch {
    int code = 0;
    std::uint32_t table = 0;
    std::uint64_t rows = 0;
    std::optional<std::uint64_t> lost;
    std::vector<nb::bytes> columns;
    std::string text;
};

using PumpedPlace = std::tuple<std::uint32_t, dataset::Producer*, std::string, std::optional<record::PulseProducer*>>;

std::unique_ptr<BoundPump> make_pump(Device& device, std::uint32_t lane, nb::handle board,
                                     record::BoardPlaces const& places, std::vector<PumpedPlace> tables) {
    Buffer memory(board, PyBUF_WRITABLE);
    auto const bytes = memory.bytes();
    auto found = places;
    found.words = {reinterpret_cast<std::int64_t*>(bytes.data()), bytes.size() / sizeof(std::int64_t)};
    std::vector<record::PumpedTable> pumped;
    for (auto& [table, producer, clock, pulses] : tables)
        pumped.push_back({table, producer, std::move(clock), pulses.value_or(nullptr)});
    return std::unique_ptr<BoundPump>(
        new BoundPump{std::move(memory), LanePump(device, lane, found, std::move(pumped))});
}

// Rows as Python's producers take them: copies.
BoundBatch next_batch(Device& device, std::uint32_t lane, std::uint64_t timeout_ns) {
    thalweg_batch batch{};
    BoundBatch bound;
    {
        nb::gil_scoped_release const released;
        bound.code = device.next(lane, timeout_ns, batch);
        if (bound.code < 0) bound.text = device.reason(bound.code);
    }
    if (batch.lost != THALWEG_UNKNOWN_COUNT) bound.lost = batch.lost;
    if (bound.code != THALWEG_ROWS) return bound;
    bound.table = batch.table;
    bound.rows = batch.rows;
    for (std::uint32_t i = 0; i < batch.columns; ++i) bound.columns.emplace_back(batch.data[i], batch.size_bytes[i]);
    return bound;
}

std::unique_ptr<Device> make_device(Library const& library,
                                    std::vector<std::tuple<std::optional<std::string>, std::int64_t, double>> given) {
    std::vector<Value> values;
    for (auto& [text, integer, real] : given) values.push_back({std::move(text), integer, real});
    return std::make_unique<Device>(library, std::move(values));
}

void bind_library(nb::module_& module) {
    bind_struct<&Setting::name, &Setting::kind, &Setting::is_required, &Setting::has_default, &Setting::fallback,
                &Setting::help>(module, "PlugInSetting");
    nb::class_<Library>(module, "PlugInLibrary")
        .def(nb::init<std::string const&>(), nb::arg("path"), WithoutGil())
        .def_prop_ro("name", &Library::name)
        .def_prop_ro("version", &Library::version)
        .def_prop_ro("settings", &Library::settings);
    bind_struct<&Outcome::code, &Outcome::text>(module, "PlugInOutcome");
    bind_struct<&Counted::table, &Counted::name, &Counted::value>(module, "PlugInCounted");
    bind_struct<&BoundBatch::code, &BoundBatch::table, &BoundBatch::rows, &BoundBatch::lost, &BoundBatch::columns,
                &BoundBatch::text>(module, "PlugInBatch");
}

void bind_device(nb::module_& module) {
    module.def("make_plug_in_device", make_device, nb::arg("library"), nb::arg("values"), nb::keep_alive<0, 1>());
    nb::class_<Device>(module, "PlugInDevice")
        .def("open", &Device::open, WithoutGil())
        .def(
            "describe",
            [](Device& device) {
                std::string json;
                auto outcome = device.describe(json);
                return std::tuple(std::move(outcome), std::move(json));
            },
            WithoutGil())
        .def(
            "start",
            [](Device& device) {
                std::optional<std::int64_t> card;
                auto outcome = device.start(card);
                return std::tuple(std::move(outcome), card);
            },
            WithoutGil())
        .def("next", next_batch, nb::arg("lane"), nb::arg("timeout_ns"))
        .def("stop", &Device::stop, WithoutGil())
        .def_prop_ro("can_pause", &Device::can_pause)
        .def("pause", &Device::pause, WithoutGil())
        .def_prop_ro("can_count", &Device::can_count)
        .def(
            "counters",
            [](Device& device) {
                std::vector<Counted> counted;
                auto outcome = device.counters(counted);
                return std::tuple(std::move(outcome), std::move(counted));
            },
            WithoutGil())
        .def("close", &Device::close, WithoutGil());
}

void append_pulses(record::PulseProducer& pulses, std::uint64_t rows,
                   nb::typed<nb::sequence, nb::object> const& columns) {
    Buffers const buffers(columns);
    nb::gil_scoped_release const released;
    pulses.append(rows, buffers.bytes());
}

std::unique_ptr<record::PulseProducer> make_pulses(dataset::Producer& producer, std::string const& schema,
                                                   std::string const& table,
                                                   features::FeatureRowOptions const& options) {
    auto const made = model::schema_from_json(schema);
    return std::make_unique<record::PulseProducer>(producer, made.tables[made.table_index(table)], options);
}

void bind_pulses(nb::module_& module) {
    using features::FlagCounts;
    bind_struct<&FlagCounts::saturated, &FlagCounts::piled_up, &FlagCounts::without_pulse>(module, "FlagCounts");
    module.def("make_pulse_producer", make_pulses, nb::arg("producer"), nb::arg("schema"), nb::arg("table"),
               nb::arg("options"), nb::keep_alive<0, 1>());
    nb::class_<record::PulseProducer>(module, "PulseProducer")
        .def("append", append_pulses, nb::arg("rows"), nb::arg("columns"))
        .def("counts", &record::PulseProducer::counts)
        .def("wait_for_no_room", &record::PulseProducer::wait_for_no_room);
}

void bind_pump(nb::module_& module) {
    using record::BoardPlaces;
    bind_settable<&BoardPlaces::lane, &BoardPlaces::tables, &BoardPlaces::offset, &BoardPlaces::next_call>(
        module, "BoardPlaces");
    nb::enum_<LanePump::End>(module, "PumpEnd")
        .value("time", LanePump::End::time)
        .value("fresh", LanePump::End::fresh)
        .value("ended", LanePump::End::ended)
        .value("overflow", LanePump::End::overflow)
        .value("lost", LanePump::End::lost)
        .value("refused", LanePump::End::refused);
    bind_struct<&LanePump::Turn::end, &LanePump::Turn::took_rows, &LanePump::Turn::backward, &LanePump::Turn::lost,
                &LanePump::Turn::text>(module, "PumpTurn");
    bind_struct<&LanePump::Held::table, &LanePump::Held::has_clock, &LanePump::Held::first, &LanePump::Held::last>(
        module, "PumpHeld");
    module.def("make_lane_pump", make_pump, nb::arg("device"), nb::arg("lane"), nb::arg("board"), nb::arg("places"),
               nb::arg("tables"));
    nb::class_<BoundPump>(module, "LanePump")
        .def(
            "run",
            [](BoundPump& bound, std::uint64_t timeout_ns, std::uint64_t limit_ns, std::uint64_t duration_ns) {
                return bound.pump.run(timeout_ns, limit_ns, duration_ns);
            },
            nb::arg("timeout_ns"), nb::arg("limit_ns"), nb::arg("duration_ns"), WithoutGil())
        .def_prop_ro("held", [](BoundPump const& bound) { return bound.pump.held(); })
        .def(
            "append_held", [](BoundPump& bound) { bound.pump.append_held(); }, WithoutGil())
        .def("restarted", [](BoundPump& bound) { bound.pump.restarted(); })
        .def("interrupt", [](BoundPump& bound) { bound.pump.interrupt(); })
        .def("wait_for_no_room", [](BoundPump& bound) { bound.pump.wait_for_no_room(); });
}

} // namespace

void bind_plug_in(nb::module_& module) {
    bind_library(module);
    bind_device(module);
    bind_pulses(module);
    bind_pump(module);
}

} // namespace thalweg::bind
