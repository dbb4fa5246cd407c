#include <filesystem>

#include "studies/record/driver/clocks.h"
#include "studies/record/driver/crew.h"
#include "studies/record/driver/measurements.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kPatienceNs = 60'000'000'000;
constexpr std::uint64_t kMemoryRingBytes = 256 * base::kMiB;

dataset::CreateOptions options_from(Arguments& arguments) {
    dataset::CreateOptions options;
    options.force = true;
    options.write.engine = storage::parse_engine(arguments.text("engine", "auto"));
    options.layout.wide_codec = arguments.text("codec", options.layout.wide_codec);
    if (options.layout.wide_codec == "none") options.layout.narrow_codec = "none";
    options.write.seal_threads = static_cast<unsigned>(arguments.number("seal-threads", options.write.seal_threads));
    options.write.extent_bytes = arguments.number("extent-bytes", options.write.extent_bytes);
    auto& staging = options.write.staging;
    staging.page_ring_bytes = arguments.number("page-ring-bytes", staging.page_ring_bytes);
    options.commit.allocate_ahead_bytes = arguments.number("allocate-ahead-bytes", options.commit.allocate_ahead_bytes);
    options.commit.flush_interval_ns = arguments.number("flush-interval-ns", options.commit.flush_interval_ns);
    options.write.queue_depth = arguments.number("queue-depth", options.write.queue_depth);
    return options;
}

// Nothing but what producers and committer do: memory touched long before, used round and round.
std::unique_ptr<dataset::Writer> create_in_memory(model::Schema const& schema, dataset::CreateOptions const& options) {
    auto file = storage::make_memory_storage("memory.h5", {.ring_bytes = kMemoryRingBytes});
    auto journal = storage::make_memory_storage("memory.h5.journal");
    auto head = model::make_run_head(schema, options.layout, {});
    return dataset::Writer::create_on(std::move(file), std::move(journal), dataset::format_for("memory.h5"),
                                      std::move(head), options);
}

std::unique_ptr<Crew> crew_from(Arguments& arguments, source::DigitizerOptions const& pulses,
                                dataset::WriteOptions const& write) {
    auto const as = arguments.text("as", "threads");
    if (as == "threads") return make_thread_crew(pulses);
    if (as == "processes") return make_process_crew(pulses, write);
    base::fail_usage({"--as " + as + " means nothing", "", "take threads or processes"});
}

} // namespace

Json measure_write(Arguments& arguments) {
    auto const options = options_from(arguments);
    auto const producers = arguments.number("producers", 2);
    auto const rows = arguments.number("bytes", base::kGiB) / kWaveformBytes / producers;
    auto const pulses = pulse_options(static_cast<std::uint32_t>(producers), rows);
    auto const path = arguments.text("path");
    bool const in_memory = path == "memory";
    auto const crew = crew_from(arguments, pulses, options.write);
    arguments.check_all_used();
    auto const schema = schema_of(*source::make_digitizer(pulses));

    auto begin_cpu_s = process_cpu_s();
    auto begin_ns = base::monotonic_ns();
    auto const writer = in_memory ? create_in_memory(schema, options) : dataset::Writer::create(path, schema, options);
    if (in_memory) { // its ring has been touched by now
        begin_cpu_s = process_cpu_s();
        begin_ns = base::monotonic_ns();
    }
    crew->start(*writer);
    auto const produced = crew->wait();
    auto const produced_s = seconds_since(begin_ns);
    auto const engine = writer->engine();
    std::uint64_t file_bytes = 0;
    double gather_cpu_s = 0, complete_cpu_s = 0;
    if (in_memory) {
        writer->abandon(); // what a ring keeps of the beginning is not enough to complete it
    } else {
        auto const closed = writer->close(kPatienceNs);
        file_bytes = closed.file_bytes;
        gather_cpu_s = static_cast<double>(closed.gather_cpu_ns) * 1e-9;
        complete_cpu_s = static_cast<double>(closed.complete_cpu_ns) * 1e-9;
    }
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
            {"committer_cpu_s", static_cast<double>(status.cpu_ns) * 1e-9},
            {"gather_cpu_s", gather_cpu_s},
            {"complete_cpu_s", complete_cpu_s},
            {"pages", status.pages},
            {"engine", engine}};
}

} // namespace thalweg::study
