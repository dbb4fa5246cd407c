// Measures an event loop in C++ with processes and threads.
#include <algorithm>
#include <atomic>
#include <bit>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include "studies/driver/clocks.h"
#include "studies/driver/measurements.h"
#include "thalweg/base/error.h"
#include "thalweg/derive/event_loop.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kRowsAtOnce = 500;

// Returns the memory of one process: its own pages, and its share of pages shared with others.
double pss_mib(std::string const& process) {
    std::ifstream rollup("/proc/" + process + "/smaps_rollup");
    for (std::string word; rollup >> word;) {
        double kib = 0;
        if (word == "Pss:" && rollup >> kib) return kib / 1024;
    }
    return 0; // it has ended
}

std::vector<std::string> children() {
    std::vector<std::string> found;
    for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream list(task.path() / "children");
        for (std::string pid; list >> pid;) found.push_back(pid);
    }
    return found;
}

double cpu_s(int who) {
    rusage usage{};
    ::getrusage(who, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

model::Table table_of(std::string const& name, std::uint64_t columns) {
    model::Table table{name, {}, ""};
    table.fields.push_back({.name = "event", .scalar = model::Scalar::uint64});
    for (std::uint64_t i = 0; i < columns; ++i)
        table.fields.push_back({.name = fmt::format("value{}", i), .scalar = model::Scalar::float32});
    return table;
}

// All events differ; they have ten bits of mantissa, like a slimmed file.
float value_of(std::uint64_t event, std::uint64_t column) {
    auto word = (event * 0x9e3779b97f4a7c15) ^ (column * 0xbf58476d1ce4e5b9);
    word ^= word >> 29;
    word *= 0x94d049bb133111eb;
    return std::bit_cast<float>(0x3f800000u | (static_cast<std::uint32_t>(word >> 40) & 0x7fe000u));
}

void append(std::vector<std::uint64_t> const& events, std::uint64_t columns, dataset::Producer& producer) {
    std::vector<std::vector<float>> values(columns);
    for (std::size_t first = 0; first < events.size(); first += kRowsAtOnce) {
        auto const some = std::span(events).subspan(first, std::min(kRowsAtOnce, events.size() - first));
        std::vector<std::span<std::byte const>> spans{std::as_bytes(some)};
        for (std::uint64_t column = 0; column < columns; ++column) {
            values[column].resize(some.size());
            for (std::size_t i = 0; i < some.size(); ++i) values[column][i] = value_of(some[i], column);
            spans.push_back(std::as_bytes(std::span(values[column])));
        }
        producer.append(some.size(), spans);
    }
}

void write_input(std::string const& path, std::uint64_t count) {
    dataset::CreateOptions options;
    options.force = true;
    options.layout.narrow_page_bytes = options.layout.wide_page_bytes = 4096; // so that ranges may be small
    auto const writer = dataset::Writer::create(path, {{table_of("Events", 0)}}, options);
    std::vector<std::uint64_t> events(count);
    for (std::uint64_t i = 0; i < count; ++i) events[i] = i;
    auto producer = writer->producer("Events");
    append(events, 0, producer);
    producer.finish();
    writer->close(60'000'000'000);
}

void burn(std::uint64_t ns) {
    auto const end = base::thread_cpu_ns() + ns;
    while (base::thread_cpu_ns() < end) {
    }
}

} // namespace

Json measure_event_loop(Arguments& arguments) {
    auto const folder = arguments.text("folder");
    auto const count = arguments.number("events", 200'000);
    auto const wide = arguments.number("columns", 250), narrow = arguments.number("narrow-columns", 80);
    auto const processing_ns = arguments.number("processing-ns", 0); // CPU time of each event
    derive::LoopOptions options;
    options.workers = static_cast<unsigned>(arguments.number("workers", 1));
    options.threads = static_cast<unsigned>(arguments.number("threads", 1));
    auto const input = folder + "/input-loop.root", phys = folder + "/target-wide.root",
               lite = folder + "/target-narrow.root";
    if (!std::filesystem::exists(input)) write_input(input, count);
    dataset::CreateOptions create;
    create.force = true;
    create.layout.narrow_codec = create.layout.wide_codec = "zstd-5";
    double most_mib = 0;
    options.progress = [&](derive::LoopProgress const&) {
        double mib = pss_mib("self");
        for (auto const& child : children()) mib += pss_mib(child);
        most_mib = std::max(most_mib, mib);
    };
    auto const fill = [&](derive::Events& events) {
        auto const numbers = events.values<std::uint64_t>("event");
        burn(processing_ns * numbers.size());
        append(numbers, wide, events[phys]);
        append(numbers, narrow, events[lite]);
    };
    auto const before_s = cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN);
    auto const begin_ns = base::monotonic_ns();
    auto const report = derive::run_event_loop(
        {{input}}, {{phys, {{table_of("wide", wide)}}, create}, {lite, {{table_of("narrow", narrow)}}, create}}, fill,
        options);
    auto const seconds = seconds_since(begin_ns);
    auto const spent_s = cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN) - before_s;
    if (report.events_done != count) base::fail_data({fmt::format("{} events were done", report.events_done)});
    auto const each = static_cast<double>(count);
    return {{"seconds", seconds},
            {"events_per_s", each / seconds},
            {"cpu_us_per_event", spent_s / each * 1e6},
            {"pss_MiB", most_mib},
            {"ranges", report.ranges},
            {"bytes", std::filesystem::file_size(phys) + std::filesystem::file_size(lite)}};
}

} // namespace thalweg::study
