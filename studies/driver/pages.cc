#include <numeric>
#include <thread>

#include "studies/driver/clocks.h"
#include "studies/driver/measurements.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kPageBytes = 1024;
constexpr std::uint64_t kRowsPerAppend = 8192;

model::Schema one_column() {
    return {{{"numbers", {{"value", model::Kind::scalar, model::Scalar::uint64, {}, {}, "", ""}}, ""}}};
}

void produce(dataset::Writer& writer, std::uint64_t pages) {
    std::vector<std::uint64_t> values(kRowsPerAppend);
    std::iota(values.begin(), values.end(), 0);
    auto producer = writer.producer("numbers");
    for (auto rows = pages * kPageBytes / sizeof values[0]; rows > 0;) {
        auto const count = std::min<std::uint64_t>(rows, values.size());
        std::span<std::byte const> const columns[] = {std::as_bytes(std::span(values).first(count))};
        producer.append(count, columns);
        rows -= count;
    }
    producer.finish();
}

} // namespace

Json measure_pages(Arguments& arguments) {
    auto const pages = arguments.number("pages", 1'000'000);
    auto const producers = arguments.number("producers", 2);
    dataset::CreateOptions options;
    options.force = true;
    options.layout.narrow_codec = "none";
    options.layout.narrow_page_bytes = kPageBytes;
    auto const begin_ns = base::monotonic_ns();
    auto const writer = dataset::Writer::create(arguments.text("path"), one_column(), options);
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t i = 0; i < producers; ++i)
            threads.emplace_back([&] { produce(*writer, pages / producers); });
    }
    auto const closing_ns = base::monotonic_ns();
    auto const begin_cpu_ns = base::thread_cpu_ns();
    auto const result = writer->close(60'000'000'000);
    auto const close_cpu_ns = base::thread_cpu_ns() - begin_cpu_ns;
    auto const close_s = seconds_since(closing_ns);
    auto const status = writer->status();
    auto const per_page_us = [&](std::uint64_t cpu_ns) {
        return static_cast<double>(cpu_ns) * 1e-3 / static_cast<double>(status.pages);
    };
    return {{"seconds", seconds_since(begin_ns)},
            {"pages", status.pages},
            {"committer_us_per_page", per_page_us(status.cpu_ns)},
            {"close_us_per_page", per_page_us(close_cpu_ns)}, // everything: gather, complete and the file's checksum
            {"gather_us_per_page", per_page_us(result.gather_cpu_ns)},
            {"complete_us_per_page", per_page_us(result.complete_cpu_ns)},
            {"close_s", close_s}};
}

} // namespace thalweg::study
