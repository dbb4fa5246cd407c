// Runs the handlers of a card with a buffer for each. Its lines: "start" begins the run, "now" tells counters,
// "sockets" tells what the kernel says of the connections.
#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "studies/readout/driver/emulated_card.h"
#include "studies/readout/driver/farm.h"
#include "studies/readout/driver/handlers.h"
#include "studies/readout/driver/measurements.h"
#include "studies/readout/driver/own_sockets.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kPatienceNs = 30'000'000'000;

class Farm {
  public:
    Farm(std::vector<readout::HandlerConfig> const& configs, Child& card) : card_(card) {
        for (auto const& config : configs) {
            handlers_.push_back(std::make_unique<readout::Handler>(config));
            handlers_.back()->configure();
        }
    }

    Json addresses() const {
        auto found = Json::array();
        for (auto const& handler : handlers_) found.push_back(handler->address());
        return found;
    }
    void start() {
        card_.tell("go");
        all_at_once([](readout::Handler& handler) { handler.start(1, kPatienceNs); });
    }
    Json now() const {
        auto told = process_now();
        std::uint64_t packets = 0, builder_ns = 0, server_ns = 0, fragments = 0, bytes = 0;
        double connections = 0;
        for (auto const& handler : handlers_) {
            auto const report = handler->report();
            packets += packets_of(report);
            builder_ns += report.builder.cpu_ns;
            server_ns += report.server_cpu_ns;
            fragments += report.fragments_sent;
            bytes += report.bytes_sent;
            for (auto const& sample : handler->samples())
                if (sample.name == "thalweg_readout_connections") connections += sample.value;
        }
        told["packets"] = packets;
        told["builder_ns"] = builder_ns;
        told["server_ns"] = server_ns;
        told["fragments"] = fragments;
        told["bytes"] = bytes;
        told["connections"] = connections;
        return told;
    }
    // Returns whether the books of all balance.
    bool stop() {
        all_at_once([](readout::Handler& handler) {
            if (handler.state() == readout::ReadoutState::running) handler.stop(0);
        });
        return std::ranges::all_of(handlers_, [](auto const& handler) { return handler->report().balances(); });
    }

  private:
    // Each waits for its card and for its threads.
    void all_at_once(std::function<void(readout::Handler&)> const& work) {
        std::vector<std::future<void>> works;
        for (auto& handler : handlers_)
            works.push_back(std::async(std::launch::async, [&work, &handler] { work(*handler); }));
        for (auto& each : works) each.get();
    }

    Child& card_;
    std::vector<std::unique_ptr<readout::Handler>> handlers_;
};

} // namespace

Json measure_farm_handlers(Arguments& arguments) {
    allow_many_files();
    auto card_of = card_options(arguments);
    std::vector<readout::HandlerConfig> configs;
    for (std::uint32_t i = 0; i < card_of.buffers; ++i) {
        auto& config = configs.emplace_back(handler_config(arguments, card_of, i));
        auto& server = config.server;
        server.listen = arguments.text("host", "127.0.0.1") + ":0";
        server.allow = {"0.0.0.0/0"};
        server.congestion_control = arguments.text("congestion", server.congestion_control);
        server.pacing_bytes_s = arguments.number("pacing", 0);
        server.max_connections = 20'000;
        config.poll_ns = arguments.number("poll-us", config.poll_ns / 1000) * 1000;
    }
    arguments.check_all_used();
    Child card([&](StopSign const& stop) {
        if (stop.wait_for_line().empty()) return Json::object();
        return run_card(card_of, stop);
    });
    Farm farm(configs, card);
    say({{"addresses", farm.addresses()}});
    answer_lines([&](std::string const& line) {
        if (line == "start") farm.start();
        return line == "sockets" ? json_of(look_at_own_sockets()) : farm.now();
    });
    auto const sent = card.finish();
    bool const balances = farm.stop();
    return {{"sent", sent}, {"balances", balances}};
}

} // namespace thalweg::study
