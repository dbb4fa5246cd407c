#include "thalweg/readout/server/server_samples.h"

#include <fmt/format.h>
#include <functional>

namespace thalweg::readout {
namespace {

using trace::Sample;
using Pick = std::function<base::SharedNumber const&(ServerCounters const&)>;

class Sum {
  public:
    explicit Sum(std::vector<ServerCounters const*> const& threads) : threads_(threads) {}

    double of(Pick const& pick) const {
        double sum = 0;
        for (auto const* thread : threads_) sum += static_cast<double>(pick(*thread).get());
        return sum;
    }
    void add(std::string const& name, std::string help, Sample::Kind kind, base::SharedNumber ServerCounters::*member) {
        samples.push_back(
            {"thalweg_readout_" + name, std::move(help), kind, {}, of([member](auto const& it) -> auto const& {
                 return it.*member;
             })});
    }
    // Adds one sample for each name; the name "" is left out.
    template <std::size_t count>
    void add(std::string const& name, std::string const& help, char const* label,
             std::array<char const*, count> const& values,
             std::array<base::SharedNumber, count> ServerCounters::*member) {
        for (std::size_t i = 0; i < count; ++i)
            if (*values[i] != 0)
                samples.push_back({"thalweg_readout_" + name,
                                   help,
                                   Sample::Kind::counter,
                                   {{label, values[i]}},
                                   of([&](auto const& it) -> auto const& { return (it.*member)[i]; })});
    }

    std::vector<Sample> samples;

  private:
    std::vector<ServerCounters const*> const& threads_;
};

constexpr char const* kLatencyHelp = "From a request to its answer";

void add_latencies(Sum& sum) {
    double below = 0;
    for (std::size_t i = 0; i < ServerCounters::kBuckets; ++i) {
        below += sum.of([i](auto const& it) -> auto const& { return it.latencies[i]; });
        bool const is_last = i + 1 == ServerCounters::kBuckets;
        if (i < 10 && !is_last) continue; // no request is answered within a microsecond
        auto const bound = is_last ? "+Inf" : fmt::format("{:.9g}", static_cast<double>(1ull << i) * 1e-9);
        sum.samples.push_back(
            {"thalweg_readout_request_seconds_bucket", kLatencyHelp, Sample::Kind::histogram, {{"le", bound}}, below});
    }
    sum.samples.push_back({"thalweg_readout_request_seconds_count", kLatencyHelp, Sample::Kind::histogram, {}, below});
    auto const seconds = sum.of([](auto const& it) -> auto const& { return it.latency_ns; }) * 1e-9;
    sum.samples.push_back({"thalweg_readout_request_seconds_sum", kLatencyHelp, Sample::Kind::histogram, {}, seconds});
}

} // namespace

std::vector<Sample> samples_of(std::vector<ServerCounters const*> const& threads) {
    Sum sum(threads);
    auto const request = [&](char const* type, base::SharedNumber ServerCounters::*member) {
        sum.samples.push_back({"thalweg_readout_requests_total",
                               "Requests of clients",
                               Sample::Kind::counter,
                               {{"type", type}},
                               sum.of([&](auto const& it) -> auto const& { return it.*member; })});
    };
    request("take", &ServerCounters::takes);
    request("get", &ServerCounters::gets);
    request("clear", &ServerCounters::clears);
    using C = ServerCounters;
    sum.add("refusals_total", "Requests that were refused", "why",
            std::array{"", "malformed", "not_allowed", "wrong_run", "bad_range", "not_owner", "busy"}, &C::refusals);
    sum.add("answered_events_total", "Events in answers", "state",
            std::array{"complete", "incomplete", "absent", "cleared", "evicted", "not_yet"}, &C::events);
    sum.add("answered_fragments_total", "Fragments in answers", Sample::Kind::counter, &C::fragments);
    sum.add("responses_total", "Answers with events", Sample::Kind::counter, &C::responses);
    sum.add("sent_bytes_total", "Bytes that sockets took", Sample::Kind::counter, &C::bytes);
    sum.add("memory_bytes_total", "Bytes of answers in memory that is shared with their clients", Sample::Kind::counter,
            &C::memory_bytes);
    sum.add("memory_full_total", "Answers that went over a socket, because such memory was full", Sample::Kind::counter,
            &C::memory_full);
    sum.add(
        "memory_missing_total",
        "Clients on this host whose answers go over a socket, because `queued_total` has no room for their memory or "
        "the machine made none",
        Sample::Kind::counter, &C::memory_missing);
    sum.add("connections", "Clients that are connected", Sample::Kind::gauge, &C::connections);
    sum.add("pending_requests", "Requests that wait for events", Sample::Kind::gauge, &C::pending);
    sum.add("queued_bytes", "Answers that slow clients have not taken yet", Sample::Kind::gauge, &C::queued_bytes);
    sum.add("queue_full_total", "Connections whose requests had to wait for that", Sample::Kind::counter, &C::waits);
    sum.add("accepted_total", "Connections let in", Sample::Kind::counter, &C::accepted);
    sum.add("accept_failures_total", "Times the machine was out of descriptors or memory", Sample::Kind::counter,
            &C::accept_failures);
    sum.add("silent_connections_total", "Connections that had said nothing and made room for others",
            Sample::Kind::counter, &C::silent);
    sum.add("stalled_connections_total", "Connections that took nothing of their answers while room was short",
            Sample::Kind::counter, &C::stalled);
    sum.add("broken_connections_total", "Connections that ended in mid-answer", Sample::Kind::counter, &C::broken);
    sum.add("skipped_events_total", "Events that no client asked for", Sample::Kind::counter, &C::skipped);
    add_latencies(sum);
    return std::move(sum.samples);
}

} // namespace thalweg::readout
