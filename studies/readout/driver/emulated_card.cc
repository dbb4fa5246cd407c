#include "studies/readout/driver/emulated_card.h"

#include <fmt/format.h>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/units.h"

namespace thalweg::study {

felix::CardOptions card_options(Arguments& arguments) {
    felix::CardOptions options;
    options.name = fmt::format("study-{}", ::getpid());
    options.elinks = static_cast<std::uint32_t>(arguments.number("elinks", options.elinks));
    options.buffers = static_cast<std::uint32_t>(arguments.number("buffers", options.buffers));
    options.buffer_bytes = arguments.number("buffer-bytes", 64 * base::kMiB);
    options.sizes = felix::parse_packet_sizes(arguments.text("sizes", "24"));
    options.event_rate_hz = static_cast<double>(arguments.number("rate-hz", 0));
    options.events = arguments.number("events", 0);
    return options;
}

Json run_card(felix::CardOptions const& options, StopSign const& stop) {
    felix::Card card(options);
    auto const watcher = stop.call([&] { card.stop(); });
    auto const begin_ns = base::monotonic_ns();
    auto const begin_cpu_ns = base::thread_cpu_ns();
    card.run();
    auto const cpu_ns = base::thread_cpu_ns() - begin_cpu_ns;
    std::uint64_t packets = 0;
    for (auto const& link : card.tally()) packets += link.packets;
    return {{"packets", packets},
            {"cpu_ns", cpu_ns},
            {"wall_ns", base::monotonic_ns() - begin_ns},
            {"stall_ns", card.stall_ns()}};
}

} // namespace thalweg::study
