// Hits a second of one core: sorted hits of one stream, and six streams that are merged. All are starts or stops.
#include <benchmark/benchmark.h>
#include <cmath>
#include <random>

#include "thalweg/spectra/coincidences.h"

namespace thalweg::spectra {
namespace {

constexpr EnergyWindows kBenchWindows{100, 200, 400, 500};
constexpr std::size_t kBenchHits = 1 << 20;

struct Streams {
    std::vector<std::vector<std::int64_t>> times;
    std::vector<std::vector<float>> energies;
};

// A hit each 2 us on average over all detectors, and a window of 300 ns: 0.04 coincidences a hit.
Streams streams(std::size_t detectors, double mean_ps) {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> apart(1 / mean_ps);
    Streams made{std::vector<std::vector<std::int64_t>>(detectors), std::vector<std::vector<float>>(detectors)};
    double time_ps = 0;
    for (std::size_t i = 0; i < kBenchHits; ++i) {
        time_ps += apart(random);
        auto const detector = random() % detectors;
        made.times[detector].push_back(static_cast<std::int64_t>(time_ps));
        made.energies[detector].push_back(random() % 2 == 0 ? 150.0f : 450.0f);
    }
    return made;
}

void count_streams(benchmark::State& state) {
    auto const detectors = static_cast<std::size_t>(state.range(0));
    auto const made = streams(detectors, static_cast<double>(state.range(1)));
    std::uint64_t found = 0;
    for (auto _ : state) {
        Coincidences coincidences({static_cast<std::uint32_t>(detectors), -150'000, 100, 3'000});
        for (std::size_t part = 0; part < 16; ++part) {
            for (std::uint32_t detector = 0; detector < detectors; ++detector) {
                auto const rows = made.times[detector].size();
                auto const begin = rows * part / 16, end = rows * (part + 1) / 16;
                coincidences.add(detector, kBenchWindows, std::span(made.times[detector]).subspan(begin, end - begin),
                                 std::span(made.energies[detector]).subspan(begin, end - begin), 0);
            }
            coincidences.pair();
        }
        found = coincidences.counts().coincidences;
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kBenchHits));
    state.counters["coincidences/s"] =
        benchmark::Counter(static_cast<double>(found * state.iterations()), benchmark::Counter::kIsRate);
}

BENCHMARK(count_streams)->Args({1, 2'000'000})->Args({6, 2'000'000})->Args({1, 20'000})->Args({6, 20'000});

} // namespace
} // namespace thalweg::spectra
