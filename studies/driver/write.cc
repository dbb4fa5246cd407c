#include <filesystem>

#include "studies/driver/clocks.h"
#include "studies/driver/measurements.h"
#include "studies/driver/peak_memory.h"
#include "studies/driver/producers.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/run/format_for.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kCloseTimeoutNs = 60'000'000'000;
constexpr std::uint64_t kMemoryRingBytes = 256 * base::kMiB;

dataset::CreateOptions options_from(Arguments& arguments) {
    dataset::CreateOptions options;
    options.force = true;
    options.whole_file_checksum = arguments.number("whole-file-checksum", 1) != 0;
    options.write.engine = storage::parse_engine(arguments.text("engine", "auto"));
    options.layout.wide_codec = options.layout.narrow_codec = arguments.text("codec", ""); // the container's default
    options.layout.cluster_bytes = arguments.number("cluster-bytes", options.layout.cluster_bytes);
    if (auto const bytes = arguments.number("page-bytes", 0)) options.layout.narrow_page_bytes = bytes;
    options.layout.table_page_bytes = arguments.number("table-page-bytes", options.layout.table_page_bytes);
    options.write.seal_threads = static_cast<unsigned>(arguments.number("seal-threads", options.write.seal_threads));
    options.write.extent_bytes = arguments.number("extent-bytes", options.write.extent_bytes);
    options.write.unbuffered_bytes = arguments.number("unbuffered-bytes", options.write.unbuffered_bytes);
    auto& staging = options.write.staging;
    staging.page_ring_bytes = arguments.number("page-ring-bytes", staging.page_ring_bytes);
    staging.memory_bytes = arguments.number("memory-bytes", staging.memory_bytes);
    options.commit.allocate_ahead_bytes = arguments.number("allocate-ahead-bytes", options.commit.allocate_ahead_bytes);
    options.commit.flush_interval_ns = arguments.number("flush-interval-ns", options.commit.flush_interval_ns);
    options.write.queue_depth = arguments.number("queue-depth", options.write.queue_depth);
    return options;
}

// Does only what producers and committer do: memory touched long before is used again and again.
std::unique_ptr<dataset::Writer> create_in_memory(Material const& material, dataset::CreateOptions const& options) {
    auto const name = "memory" + material.suffix;
    auto const& format = dataset::format_for(name);
    auto file = storage::make_memory_storage(name, {.ring_bytes = kMemoryRingBytes});
    auto journal = storage::make_memory_storage(name + ".journal");
    return dataset::Writer::create_on(std::move(file), std::move(journal), format,
                                      format.make_head(material.schema, options.layout, {}), options);
}

std::unique_ptr<Producers> producers_from(Arguments& arguments, Material const& material,
                                          dataset::WriteOptions const& write) {
    auto const as = arguments.text("as", "threads");
    if (as == "threads") return make_producer_threads(material);
    if (as == "processes") return make_producer_processes(material, write);
    base::fail_usage({"--as " + as + " means nothing", "", "take threads or processes"});
}

} // namespace

Json measure_write(Arguments& arguments) {
    auto const options = options_from(arguments);
    auto const material = material_from(arguments, arguments.number("producers", 2), "pulses", base::kGiB);
    auto const path = arguments.text("path");
    bool const in_memory = path == "memory";
    auto const producers = producers_from(arguments, material, options.write);
    arguments.check_all_used();

    PeakMemory memory;
    auto begin_cpu_s = process_cpu_s();
    auto begin_ns = base::monotonic_ns();
    auto const writer =
        in_memory ? create_in_memory(material, options) : dataset::Writer::create(path, material.schema, options);
    if (in_memory) { // its ring has been touched by now
        begin_cpu_s = process_cpu_s();
        begin_ns = base::monotonic_ns();
    }
    producers->start(*writer);
    auto const produced = producers->wait();
    auto const produced_s = seconds_since(begin_ns);
    auto const engine = writer->engine();
    std::uint64_t file_bytes = 0;
    double gather_cpu_s = 0, complete_cpu_s = 0;
    if (in_memory) {
        writer->abandon(); // the ring has lost the beginning, so the file cannot be completed
    } else {
        auto const closed = writer->close(kCloseTimeoutNs);
        file_bytes = closed.file_bytes;
        gather_cpu_s = static_cast<double>(closed.gather_cpu_ns) * 1e-9;
        complete_cpu_s = static_cast<double>(closed.complete_cpu_ns) * 1e-9;
    }
    auto const memory_bytes = memory.above_begin_bytes();
    auto const total_s = seconds_since(begin_ns);
    auto const cpu_s = process_cpu_s() - begin_cpu_s + produced.cpu_s;
    auto const status = writer->status();
    auto const gigabytes = static_cast<double>(produced.raw_bytes) * 1e-9;
    return {{"seconds", total_s},
            {"raw_bytes", produced.raw_bytes},
            {"file_bytes", file_bytes},
            {"GB_per_s", gigabytes / total_s},
            {"close_s", total_s - produced_s},
            {"cpu_s", cpu_s},
            {"cpu_s_per_GB", cpu_s / gigabytes},
            {"encode_cpu_s", produced.encode_s},
            {"append_wait_s", produced.wait_s},
            {"committer_cpu_s", static_cast<double>(status.cpu_ns) * 1e-9},
            {"gather_cpu_s", gather_cpu_s},
            {"complete_cpu_s", complete_cpu_s},
            {"memory_bytes", memory_bytes},
            {"pages", status.pages},
            {"engine", engine}};
}

} // namespace thalweg::study
