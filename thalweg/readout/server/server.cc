#include "thalweg/readout/server/server.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/readout/server/acceptor.h"
#include "thalweg/readout/server/server_samples.h"
#include "thalweg/readout/server/server_thread.h"

namespace thalweg::readout {
namespace {

// Asks each millisecond. Returns false if `is_so` has not become true by then.
template <typename IsSo> bool becomes(IsSo const& is_so, std::uint64_t timeout_ns, std::stop_token const& cut_short) {
    auto const begin_ns = base::monotonic_ns();
    for (;;) {
        auto const now_ns = base::monotonic_ns();
        if (is_so()) return true;
        if (now_ns - begin_ns >= timeout_ns || cut_short.stop_requested()) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

} // namespace

struct Server::Shared {
    Shared(ServerConfig server, std::string const& name)
        : config(std::move(server)), quota(std::make_shared<ConnectionQuota>(config)), acceptor(config, name) {}

    void serve() {
        for (auto const& thread : threads) thread->serve(served);
    }
    // Runs in the first thread.
    std::uint64_t turn() {
        auto& thread = *threads.front();
        auto* const index = thread.served().index;
        if (index != nullptr && thread.now_ns() >= next_tick_ns) {
            thread.own_counters().skipped.add(index->tick(thread.now_ns()));
            next_tick_ns = thread.now_ns() + base::kMsNs;
        }
        return acceptor.turn(threads);
    }

    bool wait_until_cleared(std::uint64_t timeout_ns, std::stop_token const& cut_short) {
        auto& index = *served.index;
        return becomes([&] { return index.leases().outstanding() == 0 && !index.has_more(); }, timeout_ns, cut_short);
    }

    ServerConfig config;
    std::shared_ptr<ConnectionQuota> quota;
    Acceptor acceptor;
    std::vector<std::unique_ptr<ServerThread>> threads;
    ServedRun served; // the one that the threads were told last
    bool stopped = false;
    std::uint64_t next_tick_ns = 0;
};

Server::Server(ServerConfig const& config, std::uint64_t instance, std::string const& handler_name,
               std::function<void(std::uint32_t)> const& at_start) {
    if (config.threads == 0 || config.threads > kMaxPins)
        base::fail_usage({fmt::format("{} cannot serve with {} threads", handler_name, config.threads), "",
                          fmt::format("choose 1 to {}", kMaxPins)});
    shared_ = std::make_unique<Shared>(config, handler_name);
    for (std::uint32_t i = 0; i < config.threads; ++i)
        shared_->threads.push_back(
            std::make_unique<ServerThread>(shared_->config, instance, handler_name, i, shared_->quota));
    auto* const shared = shared_.get();
    for (auto const& thread : shared_->threads) {
        bool const is_first = thread == shared_->threads.front();
        thread->start(
            at_start, is_first ? std::function<std::uint64_t()>([shared] { return shared->turn(); })
                               : [] { return 100 * base::kMsNs; });
    }
}

Server::~Server() { stop(); }

std::string const& Server::address() const { return shared_->acceptor.address(); }

void Server::begin_run(std::uint32_t run, Index& index, std::uint32_t groups, std::uint32_t max_fragment_bytes,
                       bool continues) {
    index.leases().set_lease_ns(shared_->config.lease_ns, shared_->config.longest_lease_ns);
    THALWEG_ASSERT(run != 0 && groups > 0, "a run has a number and a group");
    shared_->served = {.run = run,
                       .index = &index,
                       .groups = groups,
                       .max_fragment_bytes = max_fragment_bytes,
                       .continues = continues,
                       .state = shared_->served.state};
    shared_->serve();
}

void Server::set_state(ReadoutState state) {
    shared_->served.state = state;
    shared_->serve();
}

void Server::end_run() {
    if (shared_->served.index != nullptr) shared_->served.index->end_run();
    shared_->served.ended = true;
    shared_->serve();
}

void Server::forget_run() {
    shared_->served = {.state = shared_->served.state};
    shared_->serve();
}

bool Server::wait_until_cleared(std::uint64_t timeout_ns, std::stop_token const& cut_short) {
    bool const cleared = shared_->served.index == nullptr || shared_->wait_until_cleared(timeout_ns, cut_short);
    shared_->served.drained = shared_->served.ended;
    shared_->serve();
    return cleared;
}

bool Server::wait_until_told(std::uint64_t timeout_ns, std::stop_token const& cut_short) {
    auto const is_told = [&] {
        return std::ranges::all_of(shared_->threads, [](auto const& thread) { return thread->uninformed() == 0; });
    };
    return becomes(is_told, timeout_ns, cut_short);
}

void Server::stop() {
    if (std::exchange(shared_->stopped, true)) return;
    for (auto const& thread : shared_->threads) thread->stop();
}

std::vector<trace::Sample> Server::samples() const {
    std::vector<ServerCounters const*> counters;
    for (auto const& thread : shared_->threads) counters.push_back(&thread->counters());
    auto samples = samples_of(counters);
    for (auto const role : {ClientRole::collector, ClientRole::observer})
        samples.push_back({"thalweg_readout_held_bytes",
                           "Answers on their way, here and in the kernel",
                           trace::Sample::Kind::gauge,
                           {{"role", role == ClientRole::observer ? "observer" : "collector"}},
                           static_cast<double>(shared_->quota->bytes(role))});
    samples.push_back({"thalweg_readout_shared_memory_bytes",
                       "Memory that was made for answers to clients on this host",
                       trace::Sample::Kind::gauge,
                       {},
                       static_cast<double>(shared_->quota->lent_bytes())});
    for (std::size_t i = 0; i < shared_->threads.size(); ++i)
        samples.push_back({"thalweg_readout_serve_cpu_seconds_total",
                           "CPU time of the threads that serve",
                           trace::Sample::Kind::counter,
                           {{"thread", std::to_string(i)}},
                           static_cast<double>(shared_->threads[i]->cpu_ns()) * 1e-9});
    return samples;
}

std::uint64_t Server::cpu_ns() const {
    std::uint64_t sum = 0;
    for (auto const& thread : shared_->threads) sum += thread->cpu_ns();
    return sum;
}

std::uint64_t Server::fragments_sent() const {
    std::uint64_t sum = 0;
    for (auto const& thread : shared_->threads) sum += thread->counters().fragments.get();
    return sum;
}

std::uint64_t Server::bytes_sent() const {
    std::uint64_t sum = 0;
    for (auto const& thread : shared_->threads)
        sum += thread->counters().bytes.get() + thread->counters().memory_bytes.get();
    return sum;
}

} // namespace thalweg::readout
