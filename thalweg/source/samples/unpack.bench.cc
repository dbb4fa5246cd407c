// How fast packed samples become 16-bit integers, in bytes out, by the CPU time of one core. The rows of 10,496 samples
// are those of a waveform; 8 of them stay in the cache.
#include "thalweg/source/samples/unpack.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <random>

namespace thalweg::source::samples {
namespace {

constexpr std::size_t kSamples = 8 * 10'496;

void unpack_samples(benchmark::State& state, Unpack unpack, unsigned bits) {
    std::mt19937 random(1);
    std::vector<std::byte> packed(packed_bytes(bits, kSamples));
    for (auto& byte : packed) byte = static_cast<std::byte>(random());
    std::vector<std::byte> samples(2 * kSamples);
    for (auto _ : state) {
        unpack(packed.data(), kSamples, samples.data());
        benchmark::DoNotOptimize(samples.data());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * samples.size()));
}

[[maybe_unused]] auto const kRegistered = [] {
    for (auto const bits : {10U, 12U, 14U})
        for (auto const high_first : {false, true})
            for (auto const& kernel : unpack_kernels())
                benchmark::RegisterBenchmark(
                    fmt::format("unpack/{}/{}/{}", kernel.name, bits, high_first ? "high" : "low").c_str(),
                    unpack_samples, kernel.of({.bits = bits, .high_first = high_first}), bits);
    return true;
}();

} // namespace
} // namespace thalweg::source::samples
