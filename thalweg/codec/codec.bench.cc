// Raw bytes per second, on one core, of pages of 1 MiB as a digitizer makes them.
#include "thalweg/codec/codec.h"
#include "thalweg/codec/transposer.h"

#include <benchmark/benchmark.h>
#include <cmath>
#include <random>
#include <vector>

namespace thalweg::codec {
namespace {

constexpr std::size_t kPageBytes = 1 << 20;
constexpr std::size_t kArrayPages = 64; // readers decode into arrays that no cache holds

// 10-bit samples in uint16: a noisy baseline, and in each record of 10,496 samples one pulse that decays in 250.
std::vector<std::byte> digitizer_page(double noise) {
    std::mt19937 random(7);
    std::normal_distribution<double> gauss(0, noise);
    std::uniform_real_distribution<double> amplitudes(50, 800);
    std::vector<std::byte> page(kPageBytes);
    double amplitude = 0;
    for (std::size_t i = 0; i < kPageBytes / 2; ++i) {
        std::size_t const at = i % 10'496;
        if (at == 0) amplitude = amplitudes(random);
        double const since = static_cast<double>(at) - 3000;
        double const pulse = since < 0 ? 0 : amplitude * (std::exp(-since / 250) - std::exp(-since / 20));
        auto const sample = static_cast<unsigned>(std::clamp(120 + pulse + gauss(random), 0.0, 1023.0));
        page[2 * i] = std::byte(sample);
        page[2 * i + 1] = std::byte(sample >> 8);
    }
    return page;
}

void encode(benchmark::State& state, char const* name) {
    auto const page = digitizer_page(2);
    auto const codec = make_codec(Spec::parse(name), 2);
    std::vector<std::byte> out(codec->bound_bytes(page.size()));
    std::size_t stored = 0;
    for (auto _ : state) benchmark::DoNotOptimize(stored = codec->encode(page, out));
    state.SetBytesProcessed(state.iterations() * page.size());
    state.counters["stored/raw"] = static_cast<double>(stored) / kPageBytes;
}

void decode(benchmark::State& state, char const* name) {
    auto const page = digitizer_page(2);
    auto const codec = make_codec(Spec::parse(name), 2);
    std::vector<std::byte> out(codec->bound_bytes(page.size())), array(kArrayPages * page.size());
    out.resize(codec->encode(page, out));
    std::size_t at = 0;
    for (auto _ : state) codec->decode(out, std::span(array).subspan(at++ % kArrayPages * kPageBytes, kPageBytes));
    state.SetBytesProcessed(state.iterations() * page.size());
}

void transpose(benchmark::State& state, Kernel const& kernel, bool forth) {
    auto const page = digitizer_page(2);
    std::vector<std::byte> out(16384);
    Transposer transposer(static_cast<std::size_t>(state.range(0)), kernel);
    for (auto _ : state) {
        for (std::size_t at = 0; at < page.size(); at += out.size()) {
            std::span<std::byte const> const block(page.data() + at, out.size());
            forth ? transposer.shuffle_bits(block, out.data()) : transposer.unshuffle_bits(block, out.data());
        }
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * page.size());
}

void register_all() {
    for (char const* name : {"bitshuffle+lz4", "bitshuffle+zstd", "shuffle+lz4", "shuffle+deflate", "lz4"}) {
        benchmark::RegisterBenchmark((std::string("encode/") + name).c_str(), encode, name);
        benchmark::RegisterBenchmark((std::string("decode/") + name).c_str(), decode, name);
    }
    for (Kernel const* kernel : usable_kernels()) {
        for (bool forth : {true, false}) {
            std::string const name = std::string(forth ? "shuffle_bits/" : "unshuffle_bits/") + kernel->name;
            benchmark::RegisterBenchmark(name.c_str(), [=](auto& state) { transpose(state, *kernel, forth); })
                ->Arg(1)
                ->Arg(2)
                ->Arg(4)
                ->Arg(8);
        }
    }
}

} // namespace
} // namespace thalweg::codec

int main(int argc, char** argv) {
    thalweg::codec::register_all();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
