#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "buffer.h"
#include "exact_rows.h"
#include "open_unit.h"
#include "record_class.h"
#include "signals.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/begin/set_aside.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/complete/snapshot.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/dataset/nodes/attached_part.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace dataset;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

void append(Producer& producer, std::uint64_t rows, nb::typed<nb::sequence, nb::object> const& columns) {
    Buffers const buffers(columns);
    nb::gil_scoped_release const released;
    producer.append(rows, buffers.bytes());
}

// Returns whether it took the rows, which it does if they need no conversion.
bool append_exact(Producer& producer, ExactRows const& exact, nb::handle values) {
    ExactValues::Use const use;
    if (use.get() == nullptr || !exact.read(values, *use.get())) return false;
    nb::gil_scoped_release const released;
    producer.append(use.get()->rows(), use.get()->columns());
    return true;
}

std::unique_ptr<Writer> create(std::string const& path, std::string const& schema, CreateOptions const& options,
                               std::map<std::string, std::string> metadata) {
    auto interruptible = options;
    interruptible.nodes.while_waiting = signal_check();
    return Writer::create(path, model::schema_from_json(schema), interruptible, std::move(metadata));
}

std::unique_ptr<Writer> join(std::string const& path, std::uint32_t node, std::uint32_t nodes,
                             std::optional<std::string> const& schema, std::uint64_t timeout_ns, bool resumes) {
    JoinOptions options;
    options.resume = resumes;
    options.nodes = nodes;
    options.timeout_ns = timeout_ns;
    options.while_waiting = signal_check();
    if (schema) options.schema = model::schema_from_json(*schema);
    return Writer::join(path, node, options);
}

std::unique_ptr<Writer> resume(std::string const& path, std::optional<std::string> const& schema,
                               CreateOptions const& options) {
    auto interruptible = options;
    interruptible.nodes.while_waiting = signal_check();
    return Writer::resume(path, schema ? std::optional(model::schema_from_json(*schema)) : std::nullopt, interruptible);
}

SnapshotResult take_snapshot(std::string const& path, std::string const& out, bool force) {
    return snapshot(path, out, {.force = force, .while_copying = signal_check()});
}

void bind_options(nb::module_& module) {
    nb::class_<CreateOptions>(module, "CreateOptions")
        .def(nb::init<>())
        .def_rw("force", &CreateOptions::force)
        .def_rw("keys_per_group", &CreateOptions::keys_per_group)
        .def(
            "set_nodes",
            [](CreateOptions& options, std::uint32_t nodes, std::uint64_t timeout_ns, bool goes_on,
               std::uint64_t keys_together) {
                options.nodes.nodes = nodes;
                options.nodes.timeout_ns = timeout_ns;
                options.nodes.rules = {goes_on, keys_together};
            },
            nb::arg("nodes"), nb::arg("timeout_ns"), nb::arg("goes_on") = false, nb::arg("keys_together") = 0)
        .def(
            "set",
            [](CreateOptions& options, std::string const& knob, std::string const& text) {
                tuning::set(options, knob, text);
                options.given.insert(knob);
            },
            nb::arg("knob"), nb::arg("text"));
}

void bind_reports(nb::module_& module) {
    bind_struct<&TableReport::table, &TableReport::rows, &TableReport::lost_rows, &TableReport::rows_to_come,
                &TableReport::raw_bytes, &TableReport::stored_bytes>(module, "TableReport");
    bind_struct<&AbandonedProducer::number, &AbandonedProducer::table, &AbandonedProducer::rows,
                &AbandonedProducer::reason>(module, "AbandonedProducer")
        .def("__str__", &AbandonedProducer::str);
    bind_struct<&NodeReport::host, &NodeReport::has_journal, &NodeReport::settled, &NodeReport::producers,
                &NodeReport::rows, &NodeReport::first_producer>(module, "NodeReport")
        .def_prop_ro("node", [](NodeReport const& report) { return report.node + 1; });
    bind_struct<&RunReport::tables, &RunReport::pages, &RunReport::damaged_pages, &RunReport::producers,
                &RunReport::producers_lost, &RunReport::producers_abandoned, &RunReport::abandoned, &RunReport::units,
                &RunReport::units_lost, &RunReport::rows_may_be_missing, &RunReport::dropped_bytes,
                &RunReport::joined_clusters, &RunReport::superseded_bytes, &RunReport::nodes, &RunReport::notes>(
        module, "RunReport");
    bind_struct<&CompleteResult::report, &CompleteResult::path, &CompleteResult::file_bytes, &CompleteResult::adler32>(
        module, "CompleteResult");
    bind_struct<&SnapshotResult::report, &SnapshotResult::path, &SnapshotResult::file_bytes,
                &SnapshotResult::is_written>(module, "SnapshotResult")
        .def_prop_ro("copied", [](SnapshotResult const& result) { return storage::name_of(result.copied); })
        .def_ro("units_to_come", &SnapshotResult::units_left_out);
    bind_struct<&Verification::pages, &Verification::bytes, &Verification::pages_without_checksum,
                &Verification::faults, &Verification::messages, &Verification::adler32, &Verification::file_bytes>(
        module, "Verification")
        .def_ro("is_open", &Verification::open_run)
        .def_ro("problems", &Verification::left_out);
}

UnitKey key_of(nb::handle key) {
    if (nb::isinstance<nb::bytes>(key)) {
        auto const bytes = nb::cast<nb::bytes>(key);
        return {std::string(bytes.c_str(), bytes.size())};
    }
    return {nb::cast<std::int64_t>(key)};
}

nb::object key_of(UnitKey const& key) {
    if (key.is_integer) return nb::int_(key.integer);
    return nb::bytes(key.text.data(), key.text.size());
}

OpenUnit begin_unit(WorkUnits& units, nb::handle key, nb::bytes const& summary) {
    auto const unit_key = key_of(key);
    std::string text(summary.c_str(), summary.size());
    nb::gil_scoped_release const released;
    return {units.begin(unit_key, std::move(text))};
}

OpenUnit begin_group(WorkUnits& units, std::int64_t number) { return {units.begin_group(number)}; }

void next_key(OpenUnit& open, std::int64_t key, nb::bytes const& summary) {
    open.unit.next_key(key, std::string(summary.c_str(), summary.size()));
}

void bind_units(nb::module_& module) {
    nb::class_<OpenUnit>(module, "WorkUnit")
        .def("append", &OpenUnit::append, nb::arg("table"), nb::arg("rows"), nb::arg("columns"))
        .def(
            "exact_rows",
            [](OpenUnit& open, std::string const& table) {
                return std::make_unique<ExactRows>(open.unit[table].table());
            },
            nb::arg("table"))
        .def(
            "append_exact",
            [](OpenUnit& open, std::string const& table, ExactRows const& exact, nb::handle values) {
                return append_exact(open.unit[table], exact, values);
            },
            nb::arg("table"), nb::arg("exact"), nb::arg("values"))
        .def("next_key", next_key, nb::arg("key"), nb::arg("summary"))
        .def(
            "commit", [](OpenUnit& open) { return open.unit.commit(); }, WithoutGil())
        .def(
            "drop", [](OpenUnit& open) { open.unit.drop(); }, WithoutGil());
    nb::class_<WorkUnits>(module, "WorkUnits")
        .def(nb::init<std::shared_ptr<OpenRun>>())
        .def("begin", begin_unit, nb::arg("key"), nb::arg("summary"))
        .def("begin_group", begin_group, nb::arg("number"), WithoutGil())
        .def("is_group_committed", &WorkUnits::is_group_committed, nb::arg("number"))
        .def_prop_ro("keys_per_group", &WorkUnits::keys_per_group)
        .def(
            "take",
            [](WorkUnits const& units, nb::handle key) {
                auto const taken = key_of(key);
                nb::gil_scoped_release const released;
                return units.take(taken);
            },
            nb::arg("key"))
        .def("is_committed", [](WorkUnits const& units, nb::handle key) { return units.is_committed(key_of(key)); })
        .def(
            "committed_keys",
            [](WorkUnits const& units) {
                nb::list keys;
                for (auto const& key : units.committed_keys()) keys.append(key_of(key));
                return keys;
            },
            nb::sig("def committed_keys(self) -> list[int | bytes]"))
        .def("finish", &WorkUnits::finish, WithoutGil())
        .def(
            "abandon", [](WorkUnits& units, std::string const& reason) { units.abandon(reason); }, nb::arg("reason"),
            WithoutGil());
    bind_struct<&UnitRange::table, &UnitRange::producer, &UnitRange::first_row, &UnitRange::rows>(module, "UnitRange");
    nb::class_<Unit>(module, "Unit")
        .def_prop_ro(
            "key", [](Unit const& unit) { return key_of(unit.key); },
            nb::for_getter(nb::sig("def key(self, /) -> int | bytes")))
        .def_prop_ro("summary", [](Unit const& unit) { return nb::bytes(unit.summary.data(), unit.summary.size()); })
        .def_ro("ranges", &Unit::ranges);
}

void bind_writing(nb::module_& module) {
    nb::class_<ExactRows>(module, "ExactRows")
        .def(
            "__init__", [](ExactRows* self, Producer const& producer) { new (self) ExactRows(producer.table()); },
            nb::arg("producer"));
    nb::class_<Producer>(module, "Producer")
        .def("append", append, nb::arg("rows"), nb::arg("columns"))
        .def("append_exact", append_exact, nb::arg("exact"), nb::arg("values"))
        .def("finish", &Producer::finish, WithoutGil())
        .def("idle", &Producer::idle, WithoutGil())
        .def("follow_rotation", &Producer::follow_rotation, WithoutGil())
        .def(
            "set_counter",
            [](Producer const& producer, std::string_view name, std::uint64_t value) {
                producer.staging().named_counter(name).store(value, std::memory_order_relaxed);
            },
            nb::arg("name"), nb::arg("value"))
        .def(
            "abandon", [](Producer& producer, std::string const& reason) { producer.abandon(reason); },
            nb::arg("reason"), WithoutGil())
        .def_prop_ro("rows", &Producer::rows);
    nb::class_<Writer>(module, "Writer")
        .def("producer", &Writer::producer, nb::arg("table"), WithoutGil())
        .def_prop_ro("handle", &Writer::handle)
        .def_prop_ro("path", &Writer::path)
        .def_prop_ro("schema", [](Writer const& writer) { return model::to_json(writer.head().schema); })
        .def_prop_ro("metadata", [](Writer const& writer) { return writer.head().metadata; })
        .def_prop_ro("engine", &Writer::engine)
        .def_prop_ro("knobs", [](Writer const& writer) { return writer.head().knobs; })
        .def_prop_ro("node", [](Writer const& writer) { return writer.node().node; })
        .def_prop_ro("nodes", [](Writer const& writer) { return writer.node().nodes; })
        .def("status", &Writer::status)
        .def("dead_nodes", &Writer::dead_nodes)
        .def("work_units", &Writer::work_units, nb::rv_policy::reference_internal)
        .def("file_problem", &Writer::file_problem)
        .def("set_metadata", &Writer::set_metadata, nb::arg("key"), nb::arg("value"))
        .def("close", &Writer::close, nb::arg("timeout_ns"), WithoutGil())
        .def("abandon", &Writer::abandon, WithoutGil());
    nb::class_<OpenRun>(module, "OpenRun")
        .def_prop_ro("path", &OpenRun::path)
        .def_prop_ro("threads", [](OpenRun const& run) { return run.options.seal_threads; })
        .def_prop_ro("schema", [](OpenRun const& run) { return model::to_json(run.head.schema); })
        .def(
            "producer",
            [](std::shared_ptr<OpenRun> const& run, std::string const& table) { return Producer(run, table); },
            nb::arg("table"), WithoutGil());
    module.def("create", create, nb::arg("path"), nb::arg("schema"), nb::arg("options"), nb::arg("metadata"),
               WithoutGil());
    module.def("join", join, nb::arg("path"), nb::arg("node"), nb::arg("nodes"), nb::arg("schema").none(),
               nb::arg("timeout_ns"), nb::arg("resume") = false, WithoutGil());
    module.def("resume", resume, nb::arg("path"), nb::arg("schema").none(), nb::arg("options"), WithoutGil());
    module.def(
        "attach",
        [](std::string const& handle, std::optional<unsigned> threads) {
            return attach_to_part(handle, threads, signal_check());
        },
        nb::arg("handle"), nb::arg("threads").none(), WithoutGil());
    module.def(
        "remove_run", [](std::string const& path) { SetAside(path).discard(); }, nb::arg("path"), WithoutGil());
    nb::class_<SetAside>(module, "SetAside")
        .def(nb::init<std::string const&>(), nb::arg("path"))
        .def("restore", &SetAside::restore)
        .def("discard", &SetAside::discard, WithoutGil());
    module.def(
        "recover", [](std::string const& path, bool down) { return recover(path, {.all_nodes_are_down = down}); },
        nb::arg("path"), nb::arg("all_nodes_are_down") = false, WithoutGil());
    module.def(
        "is_stub", [](std::string const& path) { return is_stub(places_of_run(path)); }, nb::arg("path"), WithoutGil());
    module.def("snapshot", take_snapshot, nb::arg("path"), nb::arg("out"), nb::arg("force"), WithoutGil());
}

} // namespace

void OpenUnit::append(std::string const& table, std::uint64_t rows,
                      nb::typed<nb::sequence, nb::object> const& columns) {
    bind::append(unit[table], rows, columns);
}

void bind_dataset(nb::module_& module) {
    bind_options(module);
    bind_reports(module);
    bind_units(module);
    bind_writing(module);
}

} // namespace thalweg::bind
