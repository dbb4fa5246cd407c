// Measures responses of many pieces over loopback TCP: what the sending thread needs per fragment.
#include "studies/readout/driver/measurements.h"
#include "studies/readout/driver/receivers.h"
#include "studies/readout/driver/sender.h"

namespace thalweg::study {
Json measure_flatten(Arguments& arguments) {
    auto const way = parse_way(arguments.text("way", "copy"));
    // A fragment has 1 kB; with headers and trailers of 10 bytes around it a fifth of the pieces is large.
    std::vector<std::size_t> const with_small{10, 10, 1000, 10, 10}, alone{1000};
    auto const& sizes = arguments.number("small", 1) != 0 ? with_small : alone;
    Pieces pieces(sizes, arguments.number("pieces", 1000) / sizes.size());
    auto const duration_ns = arguments.number("milliseconds", 1000) * 1'000'000;
    Sender sender(way, pieces);
    ReceiverOptions options;
    options.server = sender.address();
    options.connections = arguments.number("connections", 100);
    options.response_bytes = pieces.response_bytes();
    options.request = [](std::size_t) { return std::vector<std::byte>(kRequestBytes); };
    Child receivers([&](StopSign const& stop) { return receive_and_drop(options, stop); });
    auto const sent = sender.measure(options.connections, duration_ns);
    receivers.finish();
    auto const fragments = sent.responses * static_cast<double>(pieces.fragments());
    auto const bytes = sent.responses * static_cast<double>(pieces.response_bytes());
    return {{"item", "fragment"},
            {"ns_per_item", sent.cpu_ns / fragments},
            {"ns_per_kB", sent.cpu_ns / bytes * 1000},
            {"items", fragments},
            {"M_items_per_s", fragments / sent.seconds * 1e-6},
            {"GB_per_s", bytes / sent.seconds * 1e-9},
            {"response_bytes", pieces.response_bytes()},
            {"connections", options.connections},
            {"partial_writes_per_response", sent.partial_writes / sent.responses},
            {"cores", sent.cpu_ns * 1e-9 / sent.seconds},
            {"seconds", sent.seconds}};
}

} // namespace thalweg::study
