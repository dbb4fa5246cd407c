// What rows of structs cost beside rows of columns, which lie as columns already.
#include <benchmark/benchmark.h>

#include "thalweg/dataset/append/struct_producer.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/format/hdf5/files/format.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {
namespace {

constexpr std::size_t kRows = 1000;

struct Hit {
    std::uint64_t time;
    float energy;
    std::uint16_t channel;
    std::array<std::uint16_t, 32> samples;
};

auto hit_type() {
    return struct_type<Hit>()
        .with("time", &Hit::time)
        .with("energy", &Hit::energy)
        .with("channel", &Hit::channel)
        .with("samples", &Hit::samples);
}

std::vector<Hit> hits() {
    std::vector<Hit> hits(kRows);
    for (std::size_t i = 0; i < kRows; ++i) {
        hits[i] = {i, static_cast<float>(i), static_cast<std::uint16_t>(i), {}};
        for (std::size_t k = 0; k < 32; ++k) hits[i].samples[k] = static_cast<std::uint16_t>(i * k * 7919);
    }
    return hits;
}

std::unique_ptr<Writer> make_writer() {
    model::Schema const schema{{hit_type().table("hits")}};
    auto const& format = format::hdf5::files::hdf5_format();
    return Writer::create_on(storage::make_memory_storage("run.h5"), storage::make_memory_storage("journal"), format,
                             format.make_head(schema, {}, {}), {});
}

void columns(benchmark::State& state) {
    auto const writer = make_writer();
    auto producer = writer->producer("hits");
    std::vector<std::uint64_t> time;
    std::vector<float> energy;
    std::vector<std::uint16_t> channel;
    std::vector<std::array<std::uint16_t, 32>> samples;
    for (auto const& hit : hits()) {
        time.push_back(hit.time);
        energy.push_back(hit.energy);
        channel.push_back(hit.channel);
        samples.push_back(hit.samples);
    }
    std::array const spans{std::span<std::byte const>(std::as_bytes(std::span(time))),
                           std::span<std::byte const>(std::as_bytes(std::span(energy))),
                           std::span<std::byte const>(std::as_bytes(std::span(channel))),
                           std::span<std::byte const>(std::as_bytes(std::span(samples)))};
    for (auto _ : state) producer.append(kRows, spans);
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(columns);

void structs(benchmark::State& state) {
    auto const writer = make_writer();
    StructProducer producer(writer->producer("hits"), hit_type());
    auto const rows = hits();
    for (auto _ : state) producer.append(rows);
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(structs);

} // namespace
} // namespace thalweg::dataset
