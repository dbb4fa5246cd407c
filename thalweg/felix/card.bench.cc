// Measures how many packets one core sends if the reader costs nothing.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include "thalweg/felix/dma_buffer.h"
#include "thalweg/felix/template_feed.h"
#include "thalweg/felix/writer_feed.h"

namespace thalweg::felix {
namespace {

CardOptions options_of(benchmark::State const& state) {
    CardOptions options;
    options.name = fmt::format("bench-{}", ::getpid());
    options.buffer_bytes = static_cast<std::uint64_t>(state.range(0)) << 10;
    if (state.range(1) == 1) options.sizes = {8, 40};
    return options;
}

void run(benchmark::State& state, CardOptions const& options, DmaOutlet& outlet, Feed& feed) {
    auto reader = DmaReader::attach(dma_name(options.name, 0));
    // At most half the buffer is filled at once, so nothing waits.
    auto const step = options.buffer_bytes / 2 / options.elinks / 32;
    std::uint64_t event = 0;
    std::uint64_t cursor = 0;
    for (auto _ : state) {
        feed.advance(event += step);
        cursor = reader.published(cursor);
        reader.release(cursor);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(event * options.elinks));
    state.SetBytesProcessed(static_cast<std::int64_t>(outlet.writer().position() * options.format.block_bytes));
}

void stamped(benchmark::State& state) {
    auto const options = options_of(state);
    std::atomic<bool> const stop = true;
    DmaOutlet outlet(dma_name(options.name, 0), options.format, options.buffer_bytes, stop);
    FeedLinks const links{0, 0, options.elinks, 0, {}};
    auto const cycle = cycle_events(options, links);
    if (cycle == 0) return state.SkipWithError("no cycle fits");
    TemplateFeed feed(options, links, outlet, cycle);
    run(state, options, outlet, feed);
}

void written(benchmark::State& state) {
    auto const options = options_of(state);
    std::atomic<bool> const stop = true;
    DmaOutlet outlet(dma_name(options.name, 0), options.format, options.buffer_bytes, stop);
    WriterFeed feed(options, {0, 0, options.elinks, 0, {}}, outlet);
    run(state, options, outlet, feed);
}

// The arguments are the buffer in KiB, and the packets: 0: of 24 bytes, 1: of 8 to 40.
BENCHMARK(stamped)
    ->Args({512, 0})
    ->Args({1024, 0})
    ->Args({1024, 1})
    ->Args({8192, 0})
    ->Args({65536, 0})
    ->Args({65536, 1});
BENCHMARK(written)->Args({1024, 0})->Args({65536, 1});

} // namespace
} // namespace thalweg::felix
