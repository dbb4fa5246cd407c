// Usage: root_parallel_write PATH BYTES COMPRESSION THREADS CLUSTER_BYTES DIRECT. Threads write Hahnfeld's events
// through ROOT's RNTupleParallelWriter until they are durable, each from values in memory, by their addresses.
// CLUSTER_BYTES are raw, as Thalweg counts them; 0 means ROOT's own.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleFillContext.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleParallelWriter.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RRawPtrWriteEntry.hxx>
#include <string>
#include <thread>
#include <TROOT.h>
#include <unistd.h>
#include <vector>

#include "studies/driver/clocks.h"
#include "studies/rntuple/opponents/root_events.h"

namespace {

constexpr std::uint64_t kBatches = 16;

using Energies = std::vector<std::vector<float>>;

struct Producer {
    std::array<Energies, kBatches> batches;
    std::uint64_t first_id = 0, events = 0, raw_bytes = 0;

    void fill(ROOT::RNTupleFillContext& context) {
        auto const entry = context.CreateRawPtrWriteEntry();
        auto const id_token = entry->GetToken("eventId"), particles_token = entry->GetToken("particles");
        std::uint64_t id = first_id;
        entry->BindRawPtr(id_token, &id);
        for (std::uint64_t event = 0; event < events; ++event, ++id) {
            auto const& particles = batches[event / kBatchEvents % kBatches][event % kBatchEvents];
            entry->BindRawPtr(particles_token, &particles);
            context.Fill(*entry);
            raw_bytes += 16 + 4 * particles.size();
        }
        context.FlushCluster();
    }
};

} // namespace

int main(int count, char** words) {
    if (count != 7) {
        std::fprintf(stderr, "root_parallel_write PATH BYTES COMPRESSION THREADS CLUSTER_BYTES DIRECT\n");
        return 2;
    }
    std::string const path = words[1];
    auto const number = [&](int index) { return std::strtoull(words[index], nullptr, 10); };
    ROOT::EnableThreadSafety();
    std::vector<Producer> producers(number(4));
    for (std::size_t index = 0; index < producers.size(); ++index) {
        auto& each = producers[index];
        for (std::uint64_t batch = 0; batch < kBatches; ++batch)
            each.batches[batch] = draw<std::vector<float>>(index * kBatches + batch);
        each.events = number(2) / kEventBytes / producers.size() / kBatchEvents * kBatchEvents;
        each.first_id = index * each.events;
    }
    ROOT::RNTupleWriteOptions options;
    options.SetCompression(static_cast<std::uint32_t>(number(3)));
    if (auto const bytes = number(5)) {
        options.SetApproxZippedClusterSize(bytes);
        options.SetMaxUnzippedClusterSize(bytes);
    }
    options.SetUseDirectIO(number(6) != 0);
    auto model = ROOT::RNTupleModel::CreateBare();
    model->AddField(std::make_unique<ROOT::RField<std::uint64_t>>("eventId"));
    model->AddField(std::make_unique<ROOT::RField<std::vector<float>>>("particles"));

    auto const begin = std::chrono::steady_clock::now();
    auto const begin_cpu_s = thalweg::study::process_cpu_s();
    {
        auto const writer = ROOT::RNTupleParallelWriter::Recreate(std::move(model), "events", path, options);
        std::vector<std::jthread> threads;
        for (auto& producer : producers) {
            threads.emplace_back([&producer, context = writer->CreateFillContext()] { producer.fill(*context); });
        }
        threads.clear();
    }
    int const file = ::open(path.c_str(), O_RDWR);
    if (file < 0 || ::fsync(file) != 0) return 1;
    ::close(file);
    auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::uint64_t raw_bytes = 0;
    for (auto const& each : producers) raw_bytes += each.raw_bytes;
    auto const gigabytes = static_cast<double>(raw_bytes) * 1e-9;
    std::printf("{\"seconds\": %.6f, \"raw_bytes\": %ju, \"GB_per_s\": %.6f, \"file_bytes\": %ju, "
                "\"cpu_s_per_GB\": %.6f}\n",
                seconds, std::uintmax_t{raw_bytes}, gigabytes / seconds,
                std::uintmax_t{std::filesystem::file_size(path)},
                (thalweg::study::process_cpu_s() - begin_cpu_s) / gigabytes);
}
