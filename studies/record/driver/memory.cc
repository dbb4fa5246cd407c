#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <memory>

#include "studies/record/driver/measurements.h"
#include "studies/record/driver/pulses.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/attach.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::study {
namespace {

model::Schema schema_with(std::uint64_t columns) {
    if (columns == 1) { // the waveform, and nothing beside it
        return {{{"rows", {{"waveform", model::Kind::scalar, model::Scalar::uint16, {kSamples}, {}, "", ""}}, ""}}};
    }
    model::Table table{"rows", {}, ""};
    for (std::uint64_t i = 0; i < columns; ++i) {
        table.fields.push_back(
            {fmt::format("value{}", i), model::Kind::scalar, model::Scalar::float64, {}, {}, "", ""});
    }
    return {{table}};
}

// Of this process: its own pages, and of pages shared with others its share.
double pss_mib() {
    std::ifstream rollup("/proc/self/smaps_rollup");
    for (std::string word; rollup >> word;) {
        double kib = 0;
        if (word == "Pss:" && rollup >> kib) return kib / 1024;
    }
    base::fail_system({"cannot read /proc/self/smaps_rollup"});
}

} // namespace

// Rows of noise, so that pages do not shrink, until the data are many times the buffers.
Json produce_for_memory(Arguments& arguments) {
    auto const run = dataset::attach(arguments.text("handle"));
    dataset::Producer producer(run, 0);
    std::uint64_t row_bytes = 0;
    std::vector<std::span<std::byte const>> columns;
    std::vector<std::vector<std::byte>> values;
    for (auto const& column : producer.columns()) {
        values.emplace_back(column.item_bytes());
        row_bytes += column.item_bytes();
    }
    std::uint64_t state = 1;
    for (std::uint64_t left = arguments.number("bytes", 512 * base::kMiB) / row_bytes; left > 0; --left) {
        columns.clear();
        for (auto& value : values) {
            for (auto& byte : value) byte = std::byte((state = state * 6364136223846793005u + 1) >> 56);
            columns.push_back(value);
        }
        producer.append(1, columns);
    }
    auto const found_mib = pss_mib();
    producer.finish();
    return {{"producer_pss_MiB", found_mib}};
}

Json measure_memory(Arguments& arguments) {
    auto const columns = arguments.number("columns", 1);
    dataset::CreateOptions options;
    options.force = true;
    auto const before_mib = pss_mib();
    auto const writer = dataset::Writer::create(arguments.text("path"), schema_with(columns), options);
    auto const command = fmt::format("exec /proc/{}/exe produce --handle {} --bytes {}", ::getpid(), writer->handle(),
                                     arguments.number("bytes", 512 * base::kMiB));
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> const child(::popen(command.c_str(), "r"), ::pclose);
    std::array<char, 256> line{};
    if (!child || std::fgets(line.data(), line.size(), child.get()) == nullptr) {
        base::fail_system({"the producer's process said nothing"});
    }
    auto result = Json::parse(line.data());
    result["columns"] = columns;
    result["creator_pss_MiB"] = pss_mib() - before_mib; // committer and journal, for all producers together
    writer->close(60'000'000'000);
    return result;
}

} // namespace thalweg::study
