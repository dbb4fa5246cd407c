// A handler without a card: a server over a ring that tests fill with whole fragments.
#pragma once

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/readout/builder/event_ring.h"
#include "thalweg/readout/client/client.h"
#include "thalweg/readout/client/test_handler_options.h"
#include "thalweg/readout/server/server.h"
#include "thalweg/readout/server/test_client.h"

namespace thalweg::readout {

inline constexpr std::uint64_t kFirst = (1ull << 32) + 100; // epoch 1
inline constexpr std::uint32_t kRun = 7;
inline constexpr std::uint64_t kLeaseNs = 2'000'000'000; // a busy machine may delay a thread by half of it
inline constexpr std::uint64_t kEvents = 192;            // three ranges

class OneHandler {
  public:
    // The handlers of a test listen at addresses of this kind.
    static inline Way way = Way::flattened;

    explicit OneHandler(std::uint64_t lease_ns = kLeaseNs, std::uint64_t instance = 1, std::uint32_t source = 1,
                        std::string const& listen = free_address(way)) {
        config_.listen = listen;
        config_.lease_ns = lease_ns;
        config_.shared_memory_bytes = memory_of(way);
        source_ = source;
        server.emplace(config_, instance, "dh" + std::to_string(source));
    }
    OneHandler& begin(std::uint64_t first, std::uint64_t events) {
        ring.emplace(4096, 512);
        index.emplace(std::vector{&*ring});
        server->begin_run(kRun, *index, 1, 512);
        server->set_state(ReadoutState::running);
        position_ = 0;
        return jump(first, events);
    }
    // Goes on with these events. The events in between never existed.
    OneHandler& jump(std::uint64_t first, std::uint64_t events) {
        if (position_ > 0) ring->end_stretch(position_);
        ring->begin_stretch(first, position_);
        for (std::uint64_t i = 0; i < events; ++i, ++position_) {
            auto const fragment = testing::make_fragment(kRun, first + i, source_, 100);
            std::memcpy(ring->slot(position_), fragment.data(), fragment.size());
            ring->note_closed(position_, true);
        }
        ring->publish(position_, first + events);
        return *this;
    }
    std::string address() const { return server->address(); }
    bool is_cleared_before(std::uint64_t event) {
        for (int i = 0; i < 300; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10)))
            if (index->leases().cleared_before() >= event) return true;
        return false;
    }

  private:
    ServerConfig config_;
    std::uint32_t source_ = 1;
    std::uint64_t position_ = 0;

  public:
    std::optional<EventRing> ring;
    std::optional<Index> index;
    std::optional<Server> server; // last: it uses both
};

inline ClientOptions options_for(std::vector<OneHandler*> const& handlers) {
    ClientOptions options;
    for (auto const* handler : handlers) options.handlers.push_back(handler->address());
    options.range_events = 64;
    options.ranges_in_flight = 4;
    options.reconnect_ns = 20'000'000;
    return options;
}

} // namespace thalweg::readout
