// Measures full events from a card through its handlers into one durable file: from the first event to the closed file.
#include <memory>
#include <thread>

#include "studies/readout/driver/emulated_card.h"
#include "studies/readout/driver/handlers.h"
#include "studies/readout/driver/measurements.h"
#include "thalweg/base/clock.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/record/collect.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kPatienceNs = 20'000'000'000;
constexpr std::uint64_t kFlushNs = 200'000'000; // the default of `thalweg readout collect`

std::vector<std::string> split(std::string const& text) {
    std::vector<std::string> words(1);
    for (char const letter : text) letter == ' ' ? words.emplace_back() : words.back() += letter;
    return words;
}

Json collect(std::string const& path, std::string const& codec, record::CollectOptions options, StopSign const& stop) {
    options.client.handlers = split(stop.wait_for_line());
    dataset::CreateOptions create;
    create.force = true;
    create.commit.flush_interval_ns = kFlushNs;
    create.layout.wide_codec = create.layout.narrow_codec = codec;
    auto const writer = dataset::Writer::create(path, record::schema_of_events(), create);
    auto const begin_ns = base::monotonic_ns();
    {
        record::Collector collector(*writer, options);
        collector.run();
        options.max_events = collector.rows();
    }
    auto const collected_ns = base::monotonic_ns();
    writer->close(kPatienceNs);
    auto const closed_ns = base::monotonic_ns();
    return {{"rows", options.max_events}, {"wall_ns", closed_ns - begin_ns}, {"close_ns", closed_ns - collected_ns}};
}

} // namespace

Json measure_full_events(Arguments& arguments) {
    auto card_of = card_options(arguments);
    std::vector<readout::HandlerConfig> configs;
    for (std::uint32_t i = 0; i < card_of.buffers; ++i) configs.push_back(handler_config(arguments, card_of, i));
    record::CollectOptions options;
    options.client.range_events = static_cast<std::uint32_t>(arguments.number("range-events", 64));
    options.max_events = card_of.events;
    auto const path = arguments.text("path");
    auto const codec = arguments.text("codec", "lz4");
    arguments.check_all_used();
    card_of.events = 0; // until it is told, so that no time is lost waiting for the last ones

    Child collector([&](StopSign const& stop) { return collect(path, codec, options, stop); });
    Child card([&](StopSign const& stop) {
        stop.wait_for_line();
        return run_card(card_of, stop);
    });
    std::vector<std::unique_ptr<readout::Handler>> handlers;
    std::string addresses;
    for (auto const& config : configs) {
        handlers.push_back(std::make_unique<readout::Handler>(config));
        handlers.back()->configure();
        addresses += (addresses.empty() ? "" : " ") + handlers.back()->address();
    }
    card.tell("go");
    for (auto const& handler : handlers) handler->start(1, kPatienceNs);
    collector.tell(addresses);
    auto const received = collector.finish();
    double cpu_ns = 0;
    for (auto const& handler : handlers) {
        auto const report = handler->report();
        cpu_ns += static_cast<double>(report.builder.cpu_ns + report.server_cpu_ns);
    }
    auto const rows = received["rows"].get<double>();
    auto const seconds = received["wall_ns"].get<double>() * 1e-9;
    auto const fragments = rows * card_of.elinks;
    for (auto const& handler : handlers) handler->stop(0);
    card.finish();
    return {{"item", "fragment"},
            {"ns_per_item", cpu_ns / fragments}, // of the handlers
            {"items", fragments},
            {"kHz", rows / seconds * 1e-3},
            {"M_items_per_s", fragments / seconds * 1e-6},
            {"cores", cpu_ns * 1e-9 / seconds},
            {"close_seconds", received["close_ns"].get<double>() * 1e-9},
            {"seconds", seconds}};
}

} // namespace thalweg::study
