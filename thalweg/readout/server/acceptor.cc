#include "thalweg/readout/server/acceptor.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kSleepNs = 10'000'000;
constexpr std::uint64_t kPauseNs = 100'000'000; // after the machine ran out of a resource
constexpr int kMostInARow = 64;                 // then existing connections are served
// If a thread has as many silent connections as allowed, each new one pushes out the oldest. At most 64 of 512 go in 10
// ms, so a new client has 70 ms to say hello, however many others connect and however fast. (The first clients of a
// burst that was accepted at once have only 10 ms.) The others wait in the kernel meanwhile.
constexpr int kBatch = 64;
constexpr std::uint64_t kBatchNs = 10'000'000;
constexpr std::uint64_t kListenerKey = ServerThread::kOtherKeys;

} // namespace

Acceptor::Acceptor(ServerConfig const& config, std::string name)
    : name_(std::move(name)), allowed_(config.allow),
      listener_(transport::listen_at(transport::parse_address(config.listen))), address_(listener_.address.str()) {
    options_.congestion_control = config.congestion_control;
    options_.pacing_bytes_s = config.pacing_bytes_s;
    // What the kernel does not know, or does not keep, is an error now, and not for each client.
    bool const is_special = !options_.congestion_control.empty() || options_.pacing_bytes_s > 0;
    if (is_special) transport::begin_connect(listener_.address, options_);
}

std::uint64_t Acceptor::turn(std::vector<std::unique_ptr<ServerThread>> const& threads) {
    auto& own = *threads.front();
    if (own.now_ns() < resume_ns_) return std::min(kSleepNs, resume_ns_ - own.now_ns());
    if (!listens_) {
        own.poller().add(listener_.socket.get(), kListenerKey);
        listens_ = true;
    }
    try {
        if (own.now_ns() >= batch_end_ns_) {
            batch_ = 0;
            batch_end_ns_ = own.now_ns() + kBatchNs;
        }
        for (int i = 0; i < kMostInARow; ++i) {
            if (batch_ >= kBatch && std::ranges::any_of(threads, [](auto& it) { return it->is_crowded(); })) {
                pause(own, batch_end_ns_);
                break;
            }
            auto accepted = transport::accept_from(listener_.socket, options_);
            if (!accepted) return kSleepNs;
            // The mode of a Unix socket says which users may connect.
            if (!accepted->peer.is_local() && !allowed_.contain(accepted->peer)) {
                refuse(*accepted,
                       {Refusal::not_allowed,
                        fmt::format("{} accepts no connections from {}", name_, accepted->peer.str())},
                       own.own_counters());
                continue;
            }
            own.own_counters().accepted.add(1);
            ++batch_;
            threads[next_thread_++ % threads.size()]->hand_over(std::move(accepted->socket));
        }
    } catch (base::SystemError const&) { // no descriptors or no memory
        own.own_counters().accept_failures.add(1);
        pause(own, own.now_ns() + kPauseNs);
    }
    return kSleepNs;
}

// Stops listening for a while. A connection that waits would otherwise wake the thread again and again.
void Acceptor::pause(ServerThread& own, std::uint64_t until_ns) {
    THALWEG_ASSERT(listens_, "a pause begins while the acceptor listens");
    own.poller().remove(listener_.socket.get());
    listens_ = false;
    resume_ns_ = until_ns;
}

void Acceptor::refuse(transport::Accepted const& accepted, Problem const& problem, ServerCounters& counters) {
    counters.refusals[static_cast<std::size_t>(problem.why)].add(1);
    auto const message = refusal(problem, 0, 0);
    transport::send_some(accepted.socket, message.bytes());
}

} // namespace thalweg::readout
