#include <thread>

#include "studies/record/driver/clocks.h"
#include "studies/record/driver/measurements.h"
#include "studies/record/driver/pulses.h"
#include "thalweg/codec/codec.h"

namespace thalweg::study {

// Pages that lie in memory into one buffer that lies in the cache: all that a codec can ever give.
Json measure_encode(Arguments& arguments) {
    auto const threads = arguments.number("threads", 2);
    auto const bytes = arguments.number("bytes", 2'000'000'000);
    auto const spec = codec::Spec::parse(arguments.text("codec", "bitshuffle+lz4"));
    auto const waveforms = some_waveforms(42 * kRowsPerPage);
    auto const raw = std::as_bytes(std::span(waveforms));
    auto const page_bytes = kRowsPerPage * kWaveformBytes;
    auto const pages = bytes / threads / page_bytes;

    std::atomic<std::uint64_t> stored_bytes = 0;
    auto const begin_ns = base::monotonic_ns();
    {
        std::vector<std::jthread> workers;
        for (std::uint64_t i = 0; i < threads; ++i) {
            workers.emplace_back([&] {
                auto const codec = codec::make_codec(spec, sizeof(std::uint16_t));
                std::vector<std::byte> out(codec->bound_bytes(page_bytes));
                for (std::uint64_t page = 0; page < pages; ++page) {
                    auto const at = page % (raw.size() / page_bytes) * page_bytes;
                    stored_bytes += codec->encode(raw.subspan(at, page_bytes), out);
                }
            });
        }
    }
    auto const seconds = seconds_since(begin_ns);
    auto const raw_bytes = pages * threads * page_bytes;
    return {{"seconds", seconds},
            {"raw_bytes", raw_bytes},
            {"GB_per_s", static_cast<double>(raw_bytes) * 1e-9 / seconds},
            {"stored_per_raw", static_cast<double>(stored_bytes) / static_cast<double>(raw_bytes)}};
}

} // namespace thalweg::study
