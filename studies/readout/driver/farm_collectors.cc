// Runs many collectors, each with a thread of its own, which take the events of the same handlers. Its lines: "connect"
// makes them, "now" tells counters and the latencies of the ranges since the line before, "sockets" tells what the
// kernel says of the connections.
#include <exception>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "studies/readout/driver/farm.h"
#include "studies/readout/driver/measurements.h"
#include "studies/readout/driver/own_sockets.h"
#include "thalweg/readout/client/client.h"

namespace thalweg::study {
namespace {

std::vector<std::string> split(std::string const& text) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
    return parts;
}

class Collector {
  public:
    explicit Collector(readout::ClientOptions const& options) : client_(options), runner_([this] { run(); }) {}
    Collector(Collector const&) = delete;
    Collector& operator=(Collector const&) = delete;
    ~Collector() { stop(); }

    void stop() { client_.stop(); }
    readout::ClientCounters counters() const { return client_.counters(); }
    struct Ranges {
        std::uint64_t count = 0;
        std::vector<std::uint64_t> latencies_ns; // from the first request of a range to its last byte
    };
    Ranges take_ranges() {
        std::lock_guard const lock(mutex_);
        if (failure_) std::rethrow_exception(failure_);
        return {ranges_, std::exchange(latencies_ns_, {})};
    }

  private:
    void run() {
        std::uint64_t latency_ns = 0;
        try {
            client_.run({.event = [&](auto const& event) { latency_ns = std::max(latency_ns, event.latency_ns); },
                         .end_of_range =
                             [&](auto const& range) {
                                 client_.commit(range);
                                 std::lock_guard const lock(mutex_);
                                 ++ranges_;
                                 latencies_ns_.push_back(std::exchange(latency_ns, 0));
                             },
                         .idle = [] {}});
        } catch (...) {
            std::lock_guard const lock(mutex_);
            failure_ = std::current_exception();
        }
    }

    readout::Client client_;
    std::mutex mutex_;
    std::uint64_t ranges_ = 0;
    std::vector<std::uint64_t> latencies_ns_;
    std::exception_ptr failure_;
    std::jthread runner_; // last: it uses all of the above
};

using Collectors = std::vector<std::unique_ptr<Collector>>;

Json now(Collectors& collectors) {
    auto told = process_now();
    readout::ClientCounters sum;
    auto events = Json::array(), latencies = Json::array();
    std::uint64_t ranges = 0;
    for (auto& collector : collectors) {
        auto const counters = collector->counters();
        auto const taken = collector->take_ranges();
        events.push_back(counters.events);
        ranges += taken.count;
        for (auto const each : taken.latencies_ns) latencies.push_back(each);
        sum.fragments += counters.fragments;
        sum.bytes += counters.bytes;
        sum.wrong += counters.wrong + counters.lost + counters.evicted + counters.duplicates;
        sum.reconnects += counters.reconnects;
        sum.max_outstanding_bytes = std::max(sum.max_outstanding_bytes, counters.max_outstanding_bytes);
    }
    told["events"] = events;
    told["latencies_ns"] = latencies;
    told["ranges"] = ranges;
    told["fragments"] = sum.fragments;
    told["bytes"] = sum.bytes;
    told["wrong"] = sum.wrong;
    told["reconnects"] = sum.reconnects;
    told["most_outstanding_bytes"] = sum.max_outstanding_bytes;
    return told;
}

} // namespace

Json measure_farm_collectors(Arguments& arguments) {
    allow_many_files();
    auto const number = [&](char const* name, std::uint64_t otherwise) {
        return static_cast<std::uint32_t>(arguments.number(name, otherwise));
    };
    readout::ClientOptions options;
    options.handlers = split(arguments.text("handlers"));
    options.connections = number("connections", 1);
    options.range_events = number("range-events", 256);
    options.ranges_in_flight = number("ranges-in-flight", 16);
    auto const credit = arguments.text("credit", "");
    options.find_credit = credit == "auto";
    if (!credit.empty() && !options.find_credit) options.credit_bytes = arguments.number("credit", 0);
    auto const count = number("collectors", 1);
    arguments.check_all_used();
    Collectors collectors;
    say({{"collectors", count}});
    answer_lines([&](std::string const& line) {
        if (line == "connect")
            for (std::uint32_t i = 0; i < count; ++i) collectors.push_back(std::make_unique<Collector>(options));
        return line == "sockets" ? json_of(look_at_own_sockets()) : now(collectors);
    });
    auto last = now(collectors);
    for (auto& collector : collectors) collector->stop();
    collectors.clear();
    return last;
}

} // namespace thalweg::study
