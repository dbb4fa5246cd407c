// Usage: root_hits PATH HITS THREADS ROWS STOPWATCH LOCK COMPRESSION CLUSTER_BYTES. ROOT writes hits as the paper's
// code does, until they are durable. ROWS: "element" makes a row of each hit, "event" one of each hundred, with a list
// for each member. STOPWATCH 1 reads a wall and a CPU clock around every fill, as the paper does, and adds them up over
// the threads. LOCK 1 holds one mutex around every flush of a cluster, as the paper does; 0 leaves that to ROOT.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleFillContext.hxx>
#include <ROOT/RNTupleFillStatus.hxx>
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

namespace {

constexpr std::size_t kMembers = 23, kHitsPerEvent = 100, kEvents = 4096;
using Clock = std::chrono::steady_clock;
using Column = std::vector<float>;

double thread_cpu_s() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// The values are drawn once, and all threads write them again and again. A column has more of them than any page, so
// compression cannot use the repetition.
struct Hits {
    std::vector<Column> members = std::vector<Column>(kMembers, Column(kEvents* kHitsPerEvent));
    std::vector<std::vector<float>> lists; // for each event, one for each member

    Hits() {
        std::mt19937_64 random(1);
        std::uniform_real_distribution<float> value(0, 1000);
        for (auto& member : members) {
            for (auto& each : member) each = value(random);
        }
        for (std::size_t event = 0; event < kEvents; ++event) {
            for (auto const& member : members) {
                auto const* const first = member.data() + event * kHitsPerEvent;
                lists.emplace_back(first, first + kHitsPerEvent);
            }
        }
    }
};

struct Producer {
    Hits const& drawn;
    std::uint64_t first_event = 0, hits = 0;
    double stopwatch_s = 0, stopwatch_cpu_s = 0;

    // Calls `fill` for every row, with the values of the entry.
    template <class Fill> void for_each_row(bool of_elements, ROOT::Detail::RRawPtrWriteEntry& entry, Fill fill) {
        std::vector<ROOT::RFieldToken> tokens;
        for (std::size_t i = 0; i < kMembers; ++i) tokens.push_back(entry.GetToken("member" + std::to_string(i)));
        auto const rows_an_event = of_elements ? kHitsPerEvent : 1;
        auto const first = first_event * rows_an_event;
        auto const end = first + hits / kHitsPerEvent * rows_an_event;
        for (std::uint64_t row = first; row < end; ++row) {
            for (std::size_t i = 0; i < kMembers; ++i) {
                if (of_elements) {
                    entry.BindRawPtr(tokens[i], &drawn.members[i][row % (kEvents * kHitsPerEvent)]);
                } else {
                    entry.BindRawPtr(tokens[i], &drawn.lists[row % kEvents * kMembers + i]);
                }
            }
            fill();
        }
    }
};

void produce(Producer& producer, ROOT::RNTupleFillContext& context, bool of_elements, bool stopwatch,
             std::mutex* flushing) {
    auto const entry = context.CreateRawPtrWriteEntry();
    ROOT::RNTupleFillStatus status;
    producer.for_each_row(of_elements, *entry, [&] {
        auto const begin = stopwatch ? Clock::now() : Clock::time_point();
        auto const begin_cpu_s = stopwatch ? thread_cpu_s() : 0;
        context.FillNoFlush(*entry, status);
        if (status.ShouldFlushCluster()) {
            context.FlushColumns(); // compresses
            auto const lock = flushing ? std::unique_lock(*flushing) : std::unique_lock<std::mutex>();
            context.FlushCluster();
        }
        if (!stopwatch) return;
        producer.stopwatch_s += seconds_since(begin);
        producer.stopwatch_cpu_s += thread_cpu_s() - begin_cpu_s;
    });
    context.FlushColumns();
    auto const lock = flushing ? std::unique_lock(*flushing) : std::unique_lock<std::mutex>();
    context.FlushCluster();
}

std::unique_ptr<ROOT::RNTupleModel> model_of(bool of_elements) {
    auto model = ROOT::RNTupleModel::CreateBare();
    for (std::size_t i = 0; i < kMembers; ++i) {
        auto const name = "member" + std::to_string(i);
        if (of_elements) {
            model->AddField(std::make_unique<ROOT::RField<float>>(name));
        } else {
            model->AddField(std::make_unique<ROOT::RField<std::vector<float>>>(name));
        }
    }
    return model;
}

} // namespace

int main(int count, char** words) {
    if (count != 9) {
        std::fprintf(stderr, "root_hits PATH HITS THREADS element|event STOPWATCH LOCK COMPRESSION CLUSTER_BYTES\n");
        return 2;
    }
    std::string const path = words[1];
    bool const of_elements = std::string(words[4]) == "element";
    auto const number = [&](int index) { return std::strtoull(words[index], nullptr, 10); };
    ROOT::EnableThreadSafety();
    Hits const drawn;
    std::vector<Producer> producers;
    for (std::uint64_t i = 0; i < number(3); ++i) {
        producers.push_back({drawn, i * 37, number(2) / number(3) / kHitsPerEvent * kHitsPerEvent});
    }
    ROOT::RNTupleWriteOptions options;
    options.SetCompression(static_cast<std::uint32_t>(number(7)));
    if (auto const bytes = number(8)) {
        options.SetMaxUnzippedClusterSize(std::max<std::size_t>(10 * bytes, options.GetMaxUnzippedClusterSize()));
        options.SetApproxZippedClusterSize(bytes);
    }
    std::mutex flushing;
    auto const begin = Clock::now();
    auto const begin_cpu_s = thalweg::study::process_cpu_s();
    {
        auto const writer = ROOT::RNTupleParallelWriter::Recreate(model_of(of_elements), "hits", path, options);
        std::vector<std::jthread> threads;
        for (auto& each : producers) {
            threads.emplace_back([&, context = writer->CreateFillContext(), producer = &each] {
                produce(*producer, *context, of_elements, number(5) != 0, number(6) != 0 ? &flushing : nullptr);
            });
        }
        threads.clear();
    }
    int const file = ::open(path.c_str(), O_RDWR);
    if (file < 0 || ::fsync(file) != 0) return 1;
    ::close(file);
    auto const seconds = seconds_since(begin);
    double stopwatch_s = 0, stopwatch_cpu_s = 0;
    std::uint64_t hits = 0;
    for (auto const& each : producers) {
        hits += each.hits;
        stopwatch_s += each.stopwatch_s;
        stopwatch_cpu_s += each.stopwatch_cpu_s;
    }
    std::printf("{\"seconds\": %.6f, \"cpu_s\": %.6f, \"stopwatch_s\": %.6f, \"stopwatch_cpu_s\": %.6f, "
                "\"hits\": %ju, \"file_bytes\": %ju}\n",
                seconds, thalweg::study::process_cpu_s() - begin_cpu_s, stopwatch_s, stopwatch_cpu_s,
                std::uintmax_t{hits}, std::uintmax_t{std::filesystem::file_size(path)});
}
