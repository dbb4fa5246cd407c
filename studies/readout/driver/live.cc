// Measures one data handler at work, with a card before it and a checking collector behind it, in processes of their
// own.
#include <chrono>
#include <thread>

#include "studies/readout/driver/checking_client.h"
#include "studies/readout/driver/emulated_card.h"
#include "studies/readout/driver/handlers.h"
#include "studies/readout/driver/measurements.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kPatienceNs = 10'000'000'000;
constexpr auto kWarmUp = std::chrono::milliseconds(700);
constexpr auto kConnect = std::chrono::microseconds(200); // per connection

struct Moment {
    double at_ns, packets, builder_cpu_ns, server_cpu_ns, fragments, bytes;

    explicit Moment(readout::Handler const& handler) {
        auto const report = handler.report();
        at_ns = static_cast<double>(base::monotonic_ns());
        packets = static_cast<double>(packets_of(report));
        builder_cpu_ns = static_cast<double>(report.builder.cpu_ns);
        server_cpu_ns = static_cast<double>(report.server_cpu_ns);
        fragments = static_cast<double>(report.fragments_sent);
        bytes = static_cast<double>(report.bytes_sent);
    }
};

readout::ClientOptions client_options(Arguments& arguments) {
    readout::ClientOptions options;
    options.connections = static_cast<std::uint32_t>(arguments.number("connections", 1000));
    options.range_events = static_cast<std::uint32_t>(arguments.number("range-events", 256));
    options.ranges_in_flight = static_cast<std::uint32_t>(arguments.number("ranges-in-flight", 16));
    return options;
}

// `item` is "packet" or, for handlers that relay, "fragment".
Json result_of(std::string const& item, Moment const& begin, Moment const& end) {
    auto const ns = end.at_ns - begin.at_ns;
    auto const builder_ns = end.builder_cpu_ns - begin.builder_cpu_ns;
    auto const server_ns = end.server_cpu_ns - begin.server_cpu_ns;
    auto const fragments = end.fragments - begin.fragments;
    auto const items = item == "packet" ? end.packets - begin.packets : fragments;
    if (items == 0 || fragments == 0) base::fail_system({"nothing came through the handler"});
    return {{"item", item},
            {"ns_per_item", (builder_ns + server_ns) / items},
            {"builder_ns", builder_ns / items},
            {"server_ns", server_ns / items},
            {"server_ns_per_fragment", server_ns / fragments},
            {"items", items},
            {"M_items_per_s", items / ns * 1e3},
            {"M_fragments_per_s", fragments / ns * 1e3},
            {"GB_per_s", (end.bytes - begin.bytes) / ns},
            {"cores", (builder_ns + server_ns) / ns},
            {"seconds", ns * 1e-9}};
}

} // namespace

Json measure_live(Arguments& arguments) {
    auto const card_of = card_options(arguments);
    auto const config = handler_config(arguments, card_of, 0);
    auto client_of = client_options(arguments);
    auto const duration = std::chrono::milliseconds(arguments.number("milliseconds", 1000));
    auto const streams = static_cast<std::uint32_t>(config.groups.front().elinks.size());
    arguments.check_all_used();

    Child client([&](StopSign const& stop) {
        client_of.handlers = {stop.wait_for_line()};
        return run_checking_client(client_of, streams, stop);
    });
    Child card([&](StopSign const& stop) {
        stop.wait_for_line(); // until there is a handler
        return run_card(card_of, stop);
    });
    readout::Handler handler(config);
    handler.configure();
    card.tell("go");
    handler.start(1, kPatienceNs);
    client.tell(handler.address());
    std::this_thread::sleep_for(kWarmUp + client_of.connections * kConnect);
    Moment const begin(handler);
    std::this_thread::sleep_for(duration);
    Moment const end(handler);
    auto const sent = card.finish();
    handler.stop(kPatienceNs);
    auto const report = handler.report();
    auto const received = client.finish();

    auto result = result_of(config.groups.front().mode == readout::Mode::relay ? "fragment" : "packet", begin, end);
    result["response_bytes"] = (end.bytes - begin.bytes) / (end.fragments - begin.fragments) *
                               static_cast<double>(config.groups.size()) * client_of.range_events;
    result["connections"] = client_of.connections;
    result["wrong"] = received["wrong"].get<std::uint64_t>() + !report.balances();
    for (auto const* key : {"incomplete", "lost", "absent"}) result[key] = received[key];
    result["books"] = books_of(report);
    result["sent"] = sent;
    result["received"] = received;
    return result;
}

} // namespace thalweg::study
