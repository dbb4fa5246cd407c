#include "studies/readout/driver/checking_client.h"

#include <cstring>

#include "thalweg/felix/packet.h"

namespace thalweg::study {

void Checker::check(readout::Event const& event) {
    auto const l1id = static_cast<std::uint32_t>(event.event);
    felix::PacketHead head{l1id, 0, felix::bcid_of(l1id)};
    for (auto const& fragment : event.fragments) {
        auto const first_elink = (fragment.header().source_id - 1) * streams_;
        bool right = fragment.header().event == event.event;
        for (std::uint32_t stream = 0; stream < streams_; ++stream) {
            auto const payload = fragment.payload(stream);
            if (payload.empty() && !fragment.is_complete()) continue; // as it says itself
            ++packets_;
            head.elink = static_cast<std::uint16_t>(first_elink + stream);
            right = right && is_right(payload, head);
        }
        incomplete_ += !fragment.is_complete();
        wrong_ += !right;
    }
}

// With what a packet of this e-link looks like but for its head; made once for each size.
bool Checker::is_right(std::span<std::byte const> payload, felix::PacketHead const& head) {
    if (payload.size() < sizeof head) return false;
    if (head.elink >= last_.size()) last_.resize(head.elink + 1u);
    auto& expected = last_[head.elink];
    if (expected.size() != payload.size()) {
        expected.resize(payload.size());
        felix::fill_packet(expected, 0, head);
    }
    constexpr std::size_t kHead = sizeof head;
    felix::PacketHead found;
    std::memcpy(&found, payload.data(), kHead);
    return found.l1id == head.l1id && found.elink == head.elink && found.bcid == head.bcid &&
           std::memcmp(payload.data() + kHead, expected.data() + kHead, payload.size() - kHead) == 0;
}

Json run_checking_client(readout::ClientOptions const& options, std::uint32_t streams, StopSign const& stop) {
    readout::Client client(options);
    Checker checker(streams);
    auto const watcher = stop.call([&] { client.stop(); });
    client.run({.event = [&](readout::Event const& event) { checker.check(event); },
                .end_of_range = [&](readout::RangeId const& range) { client.commit(range); },
                .idle = [] {}});
    client.settle(1'000'000'000);
    auto const counters = client.counters();
    return {{"events", counters.events},
            {"packets", checker.packets()},
            {"wrong", checker.wrong() + counters.wrong + counters.duplicates},
            {"incomplete", checker.incomplete()},
            {"lost", counters.lost + counters.evicted + counters.gaps},
            {"absent", counters.absent}};
}

} // namespace thalweg::study
