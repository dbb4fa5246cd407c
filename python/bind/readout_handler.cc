#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "thalweg/monitor/http_server.h"
#include "thalweg/readout/handler/handler.h"
#include "thalweg/readout/handler/pinning.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace readout;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

void bind_report(nb::module_& module) {
    nb::class_<StreamReport>(module, "StreamReport")
        .def_ro("elink", &StreamReport::elink)
        .def_ro("enabled", &StreamReport::enabled)
        .def_ro("live", &StreamReport::live)
        .def_ro("deaths", &StreamReport::deaths)
        .def_ro("packets", &StreamReport::packets)
        .def_ro("payload_bytes", &StreamReport::payload_bytes)
        .def_ro("delivered", &StreamReport::delivered)
        .def_ro("duplicate", &StreamReport::duplicate)
        .def_ro("late", &StreamReport::late)
        .def_ro("out_of_window", &StreamReport::out_of_window)
        .def_ro("orphaned", &StreamReport::orphaned)
        .def_ro("blocks", &StreamReport::blocks)
        .def_ro("sequence_gaps", &StreamReport::sequence_gaps)
        .def_ro("lost_blocks", &StreamReport::lost_blocks)
        .def_ro("bad_blocks", &StreamReport::bad_blocks)
        .def_ro("dropped_chunks", &StreamReport::dropped_chunks)
        .def_ro("crc_errors", &StreamReport::crc_errors)
        .def_ro("errors", &StreamReport::errors)
        .def_ro("truncated", &StreamReport::truncated)
        .def_ro("busy", &StreamReport::busy)
        .def_ro("timeouts", &StreamReport::timeouts)
        .def_ro("undefined", &StreamReport::undefined)
        .def("balances", &StreamReport::balances);
    nb::class_<GroupReport>(module, "GroupReport")
        .def_ro("source_id", &GroupReport::source_id)
        .def_ro("complete", &GroupReport::complete)
        .def_ro("incomplete", &GroupReport::incomplete)
        .def_ro("absent", &GroupReport::absent)
        .def_ro("overflows", &GroupReport::overflows)
        .def_ro("timed_out", &GroupReport::timed_out)
        .def_ro("jumps", &GroupReport::jumps)
        .def_ro("cleared", &GroupReport::cleared)
        .def_ro("evicted", &GroupReport::evicted)
        .def_ro("skipped", &GroupReport::skipped)
        .def_ro("kept", &GroupReport::kept)
        .def_ro("discarded", &GroupReport::discarded)
        .def_prop_ro("built", &GroupReport::built)
        .def("balances", &GroupReport::balances)
        .def_ro("hook_failures", &GroupReport::hook_failures)
        .def_ro("hook_overruns", &GroupReport::hook_overruns)
        .def_ro("newest_event", &GroupReport::newest_event)
        .def_ro("open_events", &GroupReport::open_events)
        .def_ro("fill", &GroupReport::fill)
        .def_ro("streams", &GroupReport::streams);
    nb::class_<BuilderCounters>(module, "BuilderCounters")
        .def_ro("blocks", &BuilderCounters::blocks)
        .def_ro("foreign_blocks", &BuilderCounters::foreign_blocks)
        .def_ro("bad_headers", &BuilderCounters::bad_headers)
        .def_ro("busy_ns", &BuilderCounters::busy_ns)
        .def_ro("cpu_ns", &BuilderCounters::cpu_ns)
        .def_ro("bad_pointers", &BuilderCounters::bad_pointers);
    nb::class_<Handler::Report>(module, "HandlerReport")
        .def_ro("run", &Handler::Report::run)
        .def_ro("groups", &Handler::Report::groups)
        .def_ro("builder", &Handler::Report::builder)
        .def_ro("cards_gone", &Handler::Report::cards_gone)
        .def_ro("server_cpu_ns", &Handler::Report::server_cpu_ns)
        .def_ro("fragments_sent", &Handler::Report::fragments_sent)
        .def_ro("bytes_sent", &Handler::Report::bytes_sent)
        .def_ro("ended", &Handler::Report::ended)
        .def_prop_ro("lost", &Handler::Report::lost)
        .def("balances", &Handler::Report::balances);
}

// Returns all handlers of a configuration, as they would run on this machine, and warnings about what does not fit.
std::tuple<std::vector<HandlerConfig>, std::vector<std::string>> handlers_of(std::string_view json) {
    auto handlers = parse_config(json);
    auto warnings = resolve_pinning(handlers, machine::discover());
    return {std::move(handlers), std::move(warnings)};
}

using Control = std::function<std::tuple<int, std::string>(std::string const& verb, std::string const& body)>;

std::unique_ptr<monitor::HttpServer> monitor_of(Handler const& handler, Control control) {
    auto const& config = handler.config();
    monitor::HttpOptions const options{.address = config.metrics,
                                       .allow = config.server.allow,
                                       .host_names = config.server.host_names,
                                       .token = config.server.token,
                                       .socket_path = config.control_socket};
    monitor::Pages pages{.metrics = [&handler] { return handler.samples(); },
                         .unhealthy = [] { return std::string(); }, // a handler that answers is healthy
                         .not_ready = [&handler] { return handler.not_ready(); },
                         .control =
                             [control = std::move(control)](std::string const& verb, std::string const& body) {
                                 auto const [status, text] = control(verb, body);
                                 return monitor::HttpAnswer{status, text};
                             }};
    return std::make_unique<monitor::HttpServer>(options, std::move(pages));
}

} // namespace

void bind_readout_handler(nb::module_& module) {
    bind_report(module);
    nb::class_<HandlerConfig>(module, "HandlerConfig")
        .def_ro("name", &HandlerConfig::name)
        .def_ro("buffer", &HandlerConfig::buffer)
        .def_rw("metrics", &HandlerConfig::metrics)
        .def_ro("control_socket", &HandlerConfig::control_socket)
        .def_prop_ro("has_token", [](HandlerConfig const& it) { return !it.server.token.empty(); })
        .def_ro("expected_rate_hz", &HandlerConfig::expected_rate_hz)
        .def_prop_ro("index_bytes", &index_bytes)
        .def_prop_ro("depth_s", &depth_s)
        .def_prop_ro("build_threads", &build_threads)
        .def_prop_ro("serve_threads", [](HandlerConfig const& it) { return it.server.threads; })
        .def_prop_ro("groups", [](HandlerConfig const& it) { return it.groups.size(); });
    module.def("handlers_of", &handlers_of, nb::arg("json"), WithoutGil());
    nb::class_<Handler>(module, "Handler")
        .def(nb::init<HandlerConfig const&>(), nb::arg("config"), WithoutGil())
        .def("configure", &Handler::configure, WithoutGil())
        .def("start", &Handler::start, nb::arg("run"), nb::arg("timeout_ns"), WithoutGil())
        .def("pause", &Handler::pause, WithoutGil())
        .def("resume", &Handler::resume, WithoutGil())
        .def("stop", &Handler::stop, nb::arg("drain_ns"), WithoutGil())
        .def_prop_ro("state", [](Handler const& it) { return name_of(it.state()); })
        .def_prop_ro("run", &Handler::run)
        .def_prop_ro("address", &Handler::address)
        .def("report", &Handler::report, WithoutGil())
        .def("not_ready", &Handler::not_ready, WithoutGil());
    nb::class_<monitor::HttpServer>(module, "HttpServer").def_prop_ro("url", &monitor::HttpServer::url);
    module.def("monitor_of", &monitor_of, nb::arg("handler"), nb::arg("control"), nb::keep_alive<0, 1>(), WithoutGil());
}

} // namespace thalweg::bind
