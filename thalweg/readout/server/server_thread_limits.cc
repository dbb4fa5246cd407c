// Limits of a server's thread: which connections it closes so that others have room.
#include <malloc.h>
#include <utility>

#include "thalweg/base/units.h"
#include "thalweg/readout/server/server_thread.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kHelloNs = 2'000 * base::kMsNs; // a client that is silent for so long is removed
// A client that takes nothing for so long is removed if memory is short.
constexpr std::uint64_t kStalledNs = 5'000 * base::kMsNs;
constexpr std::size_t kWorthTrimming = 1 << 20;

} // namespace

// Clients without the right token can connect, but they can only push each other out.
void ServerThread::remove_oldest_silent() {
    while (!silent_.empty()) {
        auto const found = connections_.find(silent_.front());
        bool const is_silent = found != connections_.end() && found->second->is_silent;
        if (is_silent && silent_count_ <= most_silent_) return;
        if (is_silent) {
            context_.counters.silent.add(1);
            transport::forget_unsent(found->second->socket);
            remove(silent_.front());
        }
        silent_.pop_front();
    }
}

// Counts again what clients have taken meanwhile. If there is still no room, clients that took nothing for long are
// removed; they may come back and ask again.
void ServerThread::look_for_room() {
    next_look_for_room_ns_ = context_.now_ns + 10 * base::kMsNs;
    for (auto const role : {ClientRole::collector, ClientRole::observer}) {
        if (context_.quota->has_room(role)) continue;
        std::vector<std::uint64_t> stalled;
        for (auto const& [key, connection] : connections_) {
            if (connection->session.role() != role || connection->held_bytes == 0) continue;
            hold(*connection);
            if (connection->held_bytes > 0 && context_.now_ns > connection->moved_ns + kStalledNs)
                stalled.push_back(key);
        }
        for (auto const key : stalled) {
            if (context_.quota->has_room(role)) break;
            context_.counters.stalled.add(1);
            transport::forget_unsent(connections_.at(key)->socket);
            remove(key);
        }
    }
}

void ServerThread::remove_idle() {
    next_round_ns_ = context_.now_ns + 1000 * base::kMsNs;
    std::vector<std::uint64_t> idle;
    std::uint64_t queued = 0;
    for (auto const& [key, connection] : connections_) {
        auto const& session = connection->session;
        queued += connection->session.outbox().bytes();
        bool const waits_for_nothing = !session.has_said_hello() || session.over();
        if (waits_for_nothing && context_.now_ns - connection->since_ns > kHelloNs) idle.push_back(key);
    }
    for (auto const key : idle) remove(key);
    context_.counters.queued_bytes.set(queued);
    // Returns to the system the memory that an attack needed.
    if (std::exchange(freed_bytes_, 0) + context_.pool.trim() >= kWorthTrimming) ::malloc_trim(0);
}

} // namespace thalweg::readout
