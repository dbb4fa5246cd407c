// Usage: root_snapshot PATH BYTES COMPRESSION THREADS. RDataFrame's Snapshot writes Hahnfeld's events into an RNTuple
// with implicit threads until they are durable. Its columns are defined from values in memory. The events are those of
// root_parallel_write.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <ROOT/RDataFrame.hxx>
#include <ROOT/RSnapshotOptions.hxx>
#include <string>
#include <TROOT.h>
#include <unistd.h>
#include <vector>

#include "studies/driver/clocks.h"
#include "studies/rntuple/opponents/root_events.h"

namespace {

constexpr std::uint64_t kBatches = 32;

using Energies = std::vector<ROOT::RVec<float>>;

} // namespace

int main(int count, char** words) {
    if (count != 5) {
        std::fprintf(stderr, "root_snapshot PATH BYTES COMPRESSION THREADS\n");
        return 2;
    }
    std::string const path = words[1];
    auto const number = [&](int index) { return std::strtoull(words[index], nullptr, 10); };
    ROOT::EnableImplicitMT(static_cast<unsigned>(number(4)));
    std::array<Energies, kBatches> batches;
    for (std::uint64_t batch = 0; batch < kBatches; ++batch) batches[batch] = draw<ROOT::RVec<float>>(batch);
    auto const events = number(2) / kEventBytes / kBatchEvents * kBatchEvents;
    std::uint64_t raw_bytes = 0;
    for (std::uint64_t event = 0; event < events; ++event) {
        raw_bytes += 16 + 4 * batches[event / kBatchEvents % kBatches][event % kBatchEvents].size();
    }
    ROOT::RDF::RSnapshotOptions options;
    options.fOutputFormat = ROOT::RDF::ESnapshotOutputFormat::kRNTuple;
    options.fCompressionAlgorithm = static_cast<ROOT::RCompressionSetting::EAlgorithm::EValues>(number(3) / 100);
    options.fCompressionLevel = static_cast<int>(number(3) % 100);

    auto const begin = std::chrono::steady_clock::now();
    auto const begin_cpu_s = thalweg::study::process_cpu_s();
    ROOT::RDataFrame(events)
        .Define("eventId", [](ULong64_t entry) { return std::uint64_t{entry}; }, {"rdfentry_"})
        .Define("particles",
                [&](ULong64_t entry) {
                    auto const& batch = batches[entry / kBatchEvents % kBatches];
                    return ROOT::RVec<float>(const_cast<float*>(batch[entry % kBatchEvents].data()),
                                             batch[entry % kBatchEvents].size()); // a view: nothing is copied
                },
                {"rdfentry_"})
        .Snapshot("events", path, {"eventId", "particles"}, options);
    int const file = ::open(path.c_str(), O_RDWR);
    if (file < 0 || ::fsync(file) != 0) return 1;
    ::close(file);
    auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    auto const gigabytes = static_cast<double>(raw_bytes) * 1e-9;
    std::printf("{\"seconds\": %.6f, \"raw_bytes\": %ju, \"GB_per_s\": %.6f, \"file_bytes\": %ju, "
                "\"cpu_s_per_GB\": %.6f}\n",
                seconds, std::uintmax_t{raw_bytes}, gigabytes / seconds,
                std::uintmax_t{std::filesystem::file_size(path)},
                (thalweg::study::process_cpu_s() - begin_cpu_s) / gigabytes);
}
