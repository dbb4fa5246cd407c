// Raw bytes per second, on one core, of pages of 1 MiB as a digitizer makes them, and of 128 KiB as event loops do.
#include "thalweg/codec/codec.h"
#include "thalweg/codec/transposer.h"

#include <benchmark/benchmark.h>
#include <cmath>
#include <cstring>
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

constexpr std::size_t kEventPageBytes = 128 << 10;

// Energies between 0 and 100.
std::vector<std::byte> real_page() {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> energies(0, 100);
    std::vector<std::byte> page(kEventPageBytes);
    for (std::size_t at = 0; at < page.size(); at += sizeof(float)) {
        float const energy = energies(random);
        std::memcpy(page.data() + at, &energy, sizeof(float));
    }
    return page;
}

// Running sums of how many particles an event has.
std::vector<std::byte> sums_page() {
    std::mt19937 random(7);
    std::poisson_distribution<std::uint64_t> lengths(5);
    std::vector<std::byte> page(kEventPageBytes);
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < page.size(); at += sizeof(sum)) {
        sum += lengths(random);
        std::memcpy(page.data() + at, &sum, sizeof(sum));
    }
    return page;
}

struct EventPage {
    char const* encoding;
    std::size_t element_bytes;
    std::vector<std::byte> (*make)();
};

// What the compression has to do in any case: the packed bytes as a column of plain ones.
std::vector<std::byte> packed_page(EventPage const& page) {
    auto const codec = make_codec(std::string("root:") + page.encoding, page.element_bytes);
    std::vector<std::byte> packed(kEventPageBytes);
    packed.resize(codec->encode(page.make(), packed));
    return packed;
}

void event_page(benchmark::State& state, std::vector<std::byte> const& page, std::string const& name,
                std::size_t element_bytes, bool forth) {
    auto const codec = make_codec(name, element_bytes);
    std::vector<std::byte> stored(codec->bound_bytes(page.size())), back(page.size());
    auto const size = codec->encode(page, stored);
    for (auto _ : state) {
        if (forth) {
            benchmark::DoNotOptimize(codec->encode(page, stored));
        } else {
            codec->decode(std::span(stored).first(size), back);
        }
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * kEventPageBytes);
    state.counters["stored/raw"] = static_cast<double>(size) / kEventPageBytes;
}

// "whole": the codec; "packing": without the compression; "compression": without the packing; "unsplit": compression
// of the elements as they are.
void register_event_pages() {
    for (EventPage const each : {EventPage{"splitreal32", 4, real_page}, EventPage{"splitindex64", 8, sums_page},
                                 EventPage{"splitindex32", 8, sums_page}, EventPage{"splitint32", 4, real_page},
                                 EventPage{"splituint64", 8, sums_page}, EventPage{"splituint16", 2, sums_page}}) {
        for (bool forth : {true, false}) {
            auto const add = [&](char const* part, auto const& page, std::string const& name, std::size_t bytes) {
                auto const title = std::string(forth ? "encode/" : "decode/") + each.encoding + "/" + part;
                benchmark::RegisterBenchmark(title.c_str(),
                                             [=](auto& state) { event_page(state, page, name, bytes, forth); });
            };
            auto const name = std::string("root:") + each.encoding;
            add("whole", each.make(), name + "+zstd-1", each.element_bytes);
            add("packing", each.make(), name, each.element_bytes);
            add("compression", packed_page(each), "root:byte+zstd-1", 1);
            add("unsplit", each.make(), "root:byte+zstd-1", 1);
        }
    }
}

void register_all() {
    register_event_pages();
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
