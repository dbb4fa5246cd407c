// What a work unit of ten rows costs above appending them, and what the life of a producer costs.
#include <benchmark/benchmark.h>

#include "thalweg/dataset/append/work_unit.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/format/hdf5/files/format.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {
namespace {

struct Run {
    Run() {
        model::Schema const schema{{{"t",
                                     {{"a", model::Kind::scalar, model::Scalar::int64, {}, {}, "", ""},
                                      {"b", model::Kind::scalar, model::Scalar::float32, {}, {}, "", ""}},
                                     ""}}};
        auto const& format = format::hdf5::files::hdf5_format();
        writer = Writer::create_on(storage::make_memory_storage("run.h5"), storage::make_memory_storage("journal"),
                                   format, format.make_head(schema, {}, {}), {});
    }
    std::unique_ptr<Writer> writer;
    std::vector<std::int64_t> a = std::vector<std::int64_t>(10, 1);
    std::vector<float> b = std::vector<float>(10, 2);
    std::array<std::span<std::byte const>, 2> columns{std::as_bytes(std::span(a)), std::as_bytes(std::span(b))};
};

void append_ten_rows(benchmark::State& state) {
    Run run;
    auto producer = run.writer->producer("t");
    for (auto _ : state) producer.append(10, run.columns);
}
BENCHMARK(append_ten_rows);

void unit_of_ten_rows(benchmark::State& state) {
    Run run;
    std::int64_t key = 0;
    for (auto _ : state) {
        auto unit = run.writer->work_unit(key++);
        unit["t"].append(10, run.columns);
        unit.commit();
    }
}
BENCHMARK(unit_of_ten_rows);

void life_of_a_producer(benchmark::State& state) {
    Run run;
    for (auto _ : state) {
        auto producer = run.writer->producer("t");
        producer.append(10, run.columns);
        producer.finish();
    }
}
BENCHMARK(life_of_a_producer);

} // namespace
} // namespace thalweg::dataset
