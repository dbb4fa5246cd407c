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
            if (payload.empty() && !fragment.is_complete()) continue; // as the fragment itself reports
            ++packets_;
            head.elink = static_cast<std::uint16_t>(first_elink + stream);
            right = right && is_right(payload, head);
        }
        incomplete_ += !fragment.is_complete();
        wrong_ += !right;
    }
}

// Compares with a packet of this e-link, except for its head. The packet is made once for each size.
std::span<std::byte const> Checker::expected(std::size_t size_bytes, felix::PacketHead const& head) {
    if (head.elink >= expected_.size()) expected_.resize(head.elink + 1u);
    auto& by_size = expected_[head.elink];
    if (size_bytes >= by_size.size()) by_size.resize(size_bytes + 1);
    auto& packet = by_size[size_bytes];
    if (packet.empty()) {
        packet.resize(size_bytes);
        felix::fill_packet(packet, 0, head);
    }
    return packet;
}

bool Checker::is_right(std::span<std::byte const> payload, felix::PacketHead const& head) {
    if (payload.size() < sizeof head) return false;
    constexpr std::size_t kHead = sizeof head;
    felix::PacketHead found;
    std::memcpy(&found, payload.data(), kHead);
    return found.l1id == head.l1id && found.elink == head.elink && found.bcid == head.bcid &&
           std::memcmp(payload.data() + kHead, expected(payload.size(), head).data() + kHead, payload.size() - kHead) ==
               0;
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
