// Measures how many packets per second the emulated card makes if its blocks are taken away at once.
#include <thread>

#include "studies/readout/driver/emulated_card.h"
#include "studies/readout/driver/measurements.h"
#include "studies/readout/driver/threads.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/felix/dma_buffer.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kPatienceNs = 5'000'000'000;

felix::DmaReader attach(std::string const& name) {
    auto const deadline_ns = base::monotonic_ns() + kPatienceNs;
    for (;;) {
        try {
            return felix::DmaReader::attach(name);
        } catch (base::Error const&) { // not there yet, or not ready
            if (base::monotonic_ns() > deadline_ns) throw;
            nap();
        }
    }
}

} // namespace

Json measure_card(Arguments& arguments) {
    auto const options = card_options(arguments);
    auto const duration_ns = arguments.number("milliseconds", 1000) * 1'000'000;
    Child card([&](StopSign const& stop) { return run_card(options, stop); });
    auto reader = attach(felix::dma_name(options.name, 0));
    std::uint64_t position = 0;
    auto const take = [&] {
        position = reader.published(position);
        reader.release(position);
        nap();
    };
    for (auto const end_ns = base::monotonic_ns() + duration_ns; base::monotonic_ns() < end_ns;) take();
    std::jthread const taker([&](std::stop_token const& over) { // so that its last blocks find room
        while (!over.stop_requested()) take();
    });
    auto const sent = card.finish();
    auto const packets = sent["packets"].get<double>();
    auto const wall_ns = sent["wall_ns"].get<double>();
    return {{"item", "packet"},
            {"ns_per_item", sent["cpu_ns"].get<double>() / packets},
            {"items", packets},
            {"M_items_per_s", packets / wall_ns * 1e3},
            {"cores", sent["cpu_ns"].get<double>() / wall_ns},
            {"stalled_s", sent["stall_ns"].get<double>() * 1e-9},
            {"seconds", wall_ns * 1e-9}};
}

} // namespace thalweg::study
