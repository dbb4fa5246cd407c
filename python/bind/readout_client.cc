#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "signals.h"
#include "thalweg/readout/client/client.h"
#include "thalweg/readout/config.h"
#include "thalweg/record/collect.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace readout;
constexpr std::uint64_t kSettleNs = 2'000'000'000;

using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

// Fragments are copied once, from buffers that are reused into `bytes` that Python owns.
nb::list copy_fragments(Event const& event) {
    nb::list copies;
    for (auto const& fragment : event.fragments)
        copies.append(nb::bytes(fragment.bytes().data(), fragment.bytes().size()));
    return copies;
}

// Calls `callback(run, event, state, latency_ns, handlers_missing, fragments)`. Events of a range are cleared when it
// has returned for all of them.
using Callback = nb::typed<nb::callable, nb::object(std::uint32_t, std::uint64_t, int, std::uint64_t, std::uint32_t,
                                                    nb::typed<nb::list, nb::bytes>)>;

void run(Client& client, Callback const& callback) {
    EventSink sink;
    sink.event = [&](Event const& event) {
        nb::gil_scoped_acquire const gil;
        callback(event.run, event.event, static_cast<int>(event.state), event.latency_ns, event.handlers_missing,
                 copy_fragments(event));
    };
    sink.end_of_range = [&](RangeId const& range) { client.commit(range); };
    sink.idle = signal_check();
    nb::gil_scoped_release const released;
    try {
        client.run(sink);
    } catch (...) { // events that were passed on before are cleared all the same
        try {
            client.settle(kSettleNs);
        } catch (std::exception const&) { // the first error is reported
        }
        throw;
    }
    client.settle(kSettleNs);
}

std::unique_ptr<record::Collector> make_collector(dataset::Writer& writer, ClientOptions const& client,
                                                  std::uint64_t max_events, bool complete_only) {
    return std::make_unique<record::Collector>(
        writer, record::CollectOptions{.client = client, .max_events = max_events, .complete_only = complete_only});
}

void bind_client_options(nb::module_& module) {
    bind_settable<&ClientOptions::handlers, &ClientOptions::token, &ClientOptions::token_file, &ClientOptions::token_ns,
                  &ClientOptions::return_ns, &ClientOptions::range_events, &ClientOptions::credit_bytes,
                  &ClientOptions::find_credit, &ClientOptions::ranges_in_flight, &ClientOptions::connections,
                  &ClientOptions::give_up_ns, &ClientOptions::sample_fraction>(module, "ClientOptions")
        .def("observe", [](ClientOptions& options) { options.role = ClientRole::observer; });
}

void bind_counters(nb::module_& module) {
    using C = ClientCounters;
    bind_record<&C::events, &C::complete, &C::incomplete, &C::overflowing, &C::flagged, &C::absent, &C::cleared,
                &C::evicted, &C::lost, &C::parts_lost, &C::left_behind, &C::again, &C::duplicates, &C::too_late,
                &C::fragments, &C::bytes, &C::wrong, &C::reconnects, &C::tokens_read, &C::gaps, &C::refused_clears,
                &C::max_outstanding_bytes>(module, "ClientCounters")
        .doc() =
        "Counts what a client has got. `events` were handed on; every other event of a range is absent, cleared "
        "by another collector, evicted, lost, or a duplicate.";
}

} // namespace

void bind_readout_client(nb::module_& module) {
    bind_client_options(module);
    bind_counters(module);
    nb::class_<AwayHandler>(module, "AwayHandler")
        .def_ro("address", &AwayHandler::address)
        .def_ro("why", &AwayHandler::why)
        .def_ro("is_there", &AwayHandler::is_there)
        .def_ro("is_missed", &AwayHandler::is_missed)
        .def_ro("was_met", &AwayHandler::was_met)
        .def_ro("may_leave", &AwayHandler::may_leave);
    bind_record<&MissingParts::address, &MissingParts::without, &MissingParts::in_part, &MissingParts::other_run>(
        module, "MissingParts")
        .doc() = "How many events that were handed on have nothing of a handler, and of how many it had less than all.";
    nb::class_<Client>(module, "ReadoutClient")
        .def(nb::init<ClientOptions const&>(), nb::arg("options"))
        .def("run", run, nb::arg("callback"))
        .def("stop", &Client::stop)
        .def("counters", &Client::counters)
        .def("run_number", &Client::run_number)
        .def("waiting_for", &Client::waiting_for);
    nb::class_<record::Collector>(module, "Collector")
        .def("run", &record::Collector::run, WithoutGil())
        .def("stop", &record::Collector::stop)
        .def("counters", &record::Collector::counters)
        .def("missing_parts", &record::Collector::missing_parts)
        .def("rows", &record::Collector::rows)
        .def("bytes", &record::Collector::bytes)
        .def("left_out", &record::Collector::left_out)
        .def("not_cleared", &record::Collector::not_cleared)
        .def("run_number", &record::Collector::run_number)
        .def("waiting_for", &record::Collector::waiting_for)
        .def("away", &record::Collector::away);
    module.def("make_collector", make_collector, nb::arg("writer"), nb::arg("client"), nb::arg("max_events"),
               nb::arg("complete_only"), nb::keep_alive<0, 1>());
    module.def(
        "parse_readout",
        [](std::string const& json) {
            std::vector<std::tuple<std::string, std::string, std::string>> servers;
            for (auto const& handler : parse_config(json))
                servers.emplace_back(address_for_collectors(handler), handler.server.token, handler.server.token_file);
            return servers;
        },
        nb::arg("json"), "Where collectors find each handler, its token, and the file that has it.");
    module.def("schema_of_events", [] { return model::to_json(record::schema_of_events()); });
}

} // namespace thalweg::bind
