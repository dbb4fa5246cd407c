#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <memory>

#include "studies/driver/material.h"
#include "studies/driver/measurements.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::study {
namespace {

constexpr auto kUsually = "noise";
constexpr auto kBytes = 512 * base::kMiB;

// Returns the memory of this process: its own pages, and its share of pages shared with others.
double pss_mib() {
    std::ifstream rollup("/proc/self/smaps_rollup");
    for (std::string word; rollup >> word;) {
        double kib = 0;
        if (word == "Pss:" && rollup >> kib) return kib / 1024;
    }
    base::fail_system({"cannot read /proc/self/smaps_rollup"});
}

Material material_of(Arguments& arguments) { return material_from(arguments, 1, kUsually, kBytes); }

} // namespace

// Produces until the data are many times the buffers.
Json produce_for_memory(Arguments& arguments) {
    auto const rows = material_of(arguments).prepare(0);
    dataset::Producer producer(dataset::attach(arguments.text("handle")), 0);
    auto const before_mib = pss_mib();
    rows(producer);
    auto const found_mib = pss_mib();
    producer.finish();
    return {{"producer_pss_MiB", found_mib}, {"before_pss_MiB", before_mib}};
}

Json measure_memory(Arguments& arguments) {
    auto const material = material_of(arguments);
    dataset::CreateOptions options;
    options.force = true;
    auto const before_mib = pss_mib();
    auto const writer = dataset::Writer::create(arguments.text("path"), material.schema, options);
    auto const command = fmt::format("exec /proc/{}/exe produce --handle {} --data {} --bytes {} --columns {}",
                                     ::getpid(), writer->handle(), arguments.text("data", kUsually),
                                     arguments.number("bytes", kBytes), arguments.number("columns", 1));
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> const child(::popen(command.c_str(), "r"), ::pclose);
    std::array<char, 256> line{};
    if (!child || std::fgets(line.data(), line.size(), child.get()) == nullptr) {
        base::fail_system({"the producer's process said nothing"});
    }
    auto result = Json::parse(line.data());
    result["creator_pss_MiB"] = pss_mib() - before_mib; // committer and journal, for all producers together
    writer->close(60'000'000'000);
    return result;
}

} // namespace thalweg::study
