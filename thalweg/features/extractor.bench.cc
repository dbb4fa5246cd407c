// How long the features of a pulse take, beside reading its bytes: records of 10,496 samples as a card hands them out,
// by the CPU time of one core. 1024 of them do not stay in the cache of a core; 2 of them do.
#include "thalweg/features/extractor.h"

#include <benchmark/benchmark.h>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <random>

namespace thalweg::features {
namespace {

constexpr std::size_t kSamples = 10'496;

std::vector<std::uint16_t> records_of(std::size_t count) {
    std::mt19937 random(1);
    std::vector<std::uint16_t> samples(count * kSamples);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        auto const since_ns = 0.1 * (static_cast<double>(i % kSamples) - 1049.0);
        auto const pulse = since_ns < 0 ? 0 : 800 * (std::exp(-since_ns / 25) - std::exp(-since_ns / 5));
        samples[i] = static_cast<std::uint16_t>(80 + pulse + static_cast<double>(random() % 4));
    }
    return samples;
}

// As fast as this can be compiled for the processor: all bytes are loaded, and added.
__attribute__((target("avx2"), optimize("O3"))) std::uint64_t read_all(std::uint16_t const* samples) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kSamples / 4; ++i) {
        std::uint64_t word;
        std::memcpy(&word, samples + 4 * i, sizeof word);
        sum += word;
    }
    return sum;
}

void reading(benchmark::State& state) {
    auto const count = static_cast<std::size_t>(state.range(0));
    auto const samples = records_of(count);
    std::size_t at = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(read_all(samples.data() + at * kSamples));
        at = (at + 1) % count;
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * 2 * kSamples));
}

void features_of(benchmark::State& state, SumKernel const& kernel) {
    auto const count = static_cast<std::size_t>(state.range(0));
    auto const samples = records_of(count);
    FeatureExtractor extractor({.bits = 10, .gate_begin_ns = -5, .gate_end_ns = 100}, false, kernel);
    std::size_t at = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(extractor.of({samples.data() + at * kSamples, kSamples}, 0.1));
        at = (at + 1) % count;
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * 2 * kSamples));
}

[[maybe_unused]] auto const kRegisteredFeatures = [] {
    benchmark::RegisterBenchmark("reading", reading)->Arg(2)->Arg(1024);
    for (auto const& kernel : sum_kernels())
        benchmark::RegisterBenchmark(fmt::format("features/{}", kernel.name).c_str(), features_of, kernel)
            ->Arg(2)
            ->Arg(1024);
    return true;
}();

} // namespace
} // namespace thalweg::features
