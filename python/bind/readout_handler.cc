#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "thalweg/monitor/http_server.h"
#include "thalweg/readout/handler/handler.h"
#include "thalweg/readout/handler/pinning.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace readout;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

void bind_report(nb::module_& module) {
    using S = StreamReport;
    bind_record<&S::elink, &S::enabled, &S::live, &S::deaths, &S::packets, &S::payload_bytes, &S::delivered,
                &S::duplicate, &S::late, &S::out_of_window, &S::orphaned, &S::left, &S::blocks, &S::sequence_gaps,
                &S::lost_blocks, &S::bad_blocks, &S::dropped_chunks, &S::crc_errors, &S::errors, &S::truncated,
                &S::busy, &S::timeouts, &S::undefined>(module, "StreamReport")
        .def("balances", &S::balances);
    using G = GroupReport;
    bind_record<&G::source_id, &G::complete, &G::incomplete, &G::absent, &G::cleared, &G::evicted, &G::skipped,
                &G::kept, &G::discarded, &G::overflows, &G::timed_out, &G::jumps, &G::hook_failures, &G::hook_overruns,
                &G::newest_event, &G::open_events, &G::fill, &G::streams>(module, "GroupReport")
        .def_prop_ro("built", &G::built)
        .def("balances", &G::balances);
    using B = BuilderCounters;
    bind_record<&B::blocks, &B::foreign_blocks, &B::foreign_elink, &B::bad_headers, &B::busy_ns, &B::cpu_ns,
                &B::bad_pointers>(module, "BuilderCounters");
    using R = Handler::Report;
    bind_record<&R::run, &R::groups, &R::builder, &R::cards_gone, &R::server_cpu_ns, &R::fragments_sent, &R::bytes_sent,
                &R::ended>(module, "HandlerReport")
        .def_prop_ro("lost", &R::lost)
        .def("balances", &R::balances);
}

// Returns all handlers of a configuration, as they would run on this machine, and warnings about what does not fit.
// `own` is the handler of this process; empty: the only one.
std::tuple<std::vector<HandlerConfig>, std::vector<std::string>> handlers_of(std::string_view json,
                                                                             std::string const& own) {
    auto handlers = parse_config(json);
    std::string const name = own.empty() ? handlers[0].name : own;
    auto warnings = resolve_own_pinning(handlers, name, machine::discover());
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
    monitor::HttpPages pages{.metrics = [&handler] { return handler.samples(); },
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
        .def_prop_ro("pacing_bytes_s", [](HandlerConfig const& it) { return it.server.pacing_bytes_s; })
        .def_prop_ro("queued_total_bytes", [](HandlerConfig const& it) { return it.server.queued_total_bytes; })
        .def_prop_ro("groups", [](HandlerConfig const& it) { return it.groups.size(); });
    module.def("handlers_of", &handlers_of, nb::arg("json"), nb::arg("own") = "", WithoutGil());
    nb::class_<Handler>(module, "Handler")
        .def(nb::init<HandlerConfig const&>(), nb::arg("config"), WithoutGil())
        .def("configure", &Handler::configure, WithoutGil())
        .def("start", &Handler::start, nb::arg("run"), nb::arg("timeout_ns"), nb::arg("tries_again") = false,
             WithoutGil())
        .def("pause", &Handler::pause, WithoutGil())
        .def("resume", &Handler::resume, WithoutGil())
        .def("stop", &Handler::stop, nb::arg("drain_ns"), WithoutGil())
        .def("cut_short", &Handler::cut_short, WithoutGil())
        .def_prop_ro("state", [](Handler const& it) { return name_of(it.state()); })
        .def_prop_ro("run", &Handler::run)
        .def_prop_ro("address", &Handler::address)
        .def("report", &Handler::report, WithoutGil())
        .def("not_ready", &Handler::not_ready, WithoutGil())
        .def("trouble", &Handler::trouble, WithoutGil());
    nb::class_<monitor::HttpServer>(module, "HttpServer")
        .def_prop_ro("url", &monitor::HttpServer::url)
        .def("stop", &monitor::HttpServer::stop, WithoutGil());
    nb::class_<monitor::HostNames>(module, "HostNames")
        .def(nb::init<std::vector<std::string>, std::string_view>(), nb::arg("names"), nb::arg("address"))
        .def("contain", &monitor::HostNames::contain, nb::arg("host"));
    module.def("is_bearer_of", &monitor::is_bearer_of, nb::arg("token"), nb::arg("authorization"));
    module.def("monitor_of", &monitor_of, nb::arg("handler"), nb::arg("control"), nb::keep_alive<0, 1>(), WithoutGil());
}

} // namespace thalweg::bind
