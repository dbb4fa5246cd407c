#include "studies/readout/driver/handlers.h"

#include <algorithm>
#include <fmt/format.h>

#include "studies/readout/driver/loopback.h"
#include "thalweg/base/units.h"
#include "thalweg/felix/dma_buffer.h"
#include "thalweg/readout/fragment.h"

namespace thalweg::study {

readout::HandlerConfig handler_config(Arguments& arguments, felix::CardOptions const& card, std::uint32_t index) {
    auto const number = [&](char const* name, std::uint64_t otherwise) {
        return static_cast<std::uint32_t>(arguments.number(name, otherwise));
    };
    bool const relay = arguments.text("mode", "build") == "relay";
    auto const streams = relay ? 1 : number("streams", 14);
    readout::HandlerConfig config;
    config.name = fmt::format("dh{}", index);
    config.buffer = felix::dma_name(card.name, index);
    config.threads = number("builders", 1);
    config.expected_rate_hz = card.event_rate_hz > 0 ? card.event_rate_hz : config.expected_rate_hz;
    config.pinning = arguments.text("pinning", "none");
    config.index.events = arguments.number("slots", config.index.events);
    config.index.window_events = std::min(config.index.window_events, config.index.events / 8);
    config.index.close_after_events = std::min(config.index.close_after_events, config.index.window_events / 2);
    config.server.listen = "127.0.0.1:0";
    config.server.congestion_control = kCongestionControl;
    config.server.threads = number("servers", 1);
    config.server.outstanding_events = arguments.number("outstanding", config.index.events / 4);
    config.server.iovec = arguments.number("iovec", 0) != 0;

    auto const payload_bytes = base::round_up(card.sizes.max_bytes, readout::kPayloadAlignment);
    auto const fragment_bytes = readout::header_bytes(streams) + streams * payload_bytes;
    auto const groups = card.elinks / card.buffers / streams;
    for (std::uint32_t i = 0; i < groups; ++i) {
        auto const group = index * groups + i;
        readout::GroupConfig built;
        built.source_id = group + 1;
        built.fragment_bytes = static_cast<std::uint32_t>(base::round_up(fragment_bytes, 64));
        built.mode = relay ? readout::Mode::relay : readout::Mode::build;
        for (std::uint32_t stream = 0; stream < streams; ++stream) {
            built.elinks.push_back(static_cast<std::uint16_t>(group * streams + stream));
        }
        config.groups.push_back(std::move(built));
    }
    return config;
}

std::uint64_t packets_of(readout::Handler::Report const& report) {
    std::uint64_t packets = 0;
    for (auto const& group : report.groups) {
        for (auto const& stream : group.streams) packets += stream.packets;
    }
    return packets;
}

Json books_of(readout::Handler::Report const& report) {
    std::uint64_t complete = 0, incomplete = 0, absent = 0, timed_out = 0, jumps = 0, late = 0, refused = 0, deaths = 0;
    for (auto const& group : report.groups) {
        complete += group.complete;
        incomplete += group.incomplete;
        absent += group.absent;
        timed_out += group.timed_out;
        jumps += group.jumps;
        for (auto const& stream : group.streams) {
            late += stream.late;
            refused += stream.out_of_window + stream.orphaned + stream.duplicate;
            deaths += stream.deaths;
        }
    }
    return {{"complete", complete},
            {"incomplete", incomplete},
            {"absent", absent},
            {"timed_out", timed_out},
            {"jumps", jumps},
            {"late", late},
            {"refused", refused},
            {"deaths", deaths},
            {"busy_s", static_cast<double>(report.builder.busy_ns) * 1e-9},
            {"balances", report.balances()}};
}

} // namespace thalweg::study
