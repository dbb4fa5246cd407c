// A program of a user: four threads append structs, and one asks how the run is. Rows are flushed often, so that the
// library copies rows that are being written. To be compiled with -fsanitize=thread; the library is not.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include <thalweg/thalweg.h>

struct Pulse {
    std::uint64_t timestamp;
    std::array<std::uint16_t, 64> waveform;
};

int main(int, char** arguments) {
    using namespace thalweg::dataset;
    auto const type =
        struct_type<Pulse>().with("timestamp", &Pulse::timestamp, "ns").with("waveform", &Pulse::waveform);
    CreateOptions options;
    options.commit.flush_interval_ns = 20'000'000;
    auto const run = Writer::create(arguments[1], {{type.table("pulses")}}, options);
    std::atomic<bool> ends = false;
    std::thread asks([&] {
        while (!ends) {
            static_cast<void>(run->status());
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    });
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
            StructProducer producer(run->producer("pulses"), type);
            for (int batch = 0; batch < 300; ++batch) {
                producer.append(std::vector<Pulse>(50));
                std::this_thread::sleep_for(std::chrono::microseconds(500));
            }
            producer.finish();
        });
    }
    for (auto& thread : threads) thread.join();
    ends = true;
    asks.join();
    std::printf("%llu rows\n", static_cast<unsigned long long>(run->close(60'000'000'000).report.tables[0].rows));
}
