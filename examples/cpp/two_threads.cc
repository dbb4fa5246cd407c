// Two threads write the pulses of two detectors into one file. Usage: two_threads FILE
#include <array>
#include <cstdint>
#include <cstdio>
#include <future>
#include <utility>

#include <thalweg/thalweg.h>

using namespace thalweg;

namespace {

constexpr std::size_t kSamples = 512;
constexpr std::uint64_t kPulses = 20'000;

struct Pulse {
    std::uint64_t timestamp;
    std::array<std::uint16_t, kSamples> waveform;
};

auto pulse_type() {
    return dataset::struct_type<Pulse>().with("timestamp", &Pulse::timestamp, "ns").with("waveform", &Pulse::waveform);
}

// There is one pulse per microsecond: a step that decays over a baseline of 100.
void measure(dataset::Producer producer) {
    dataset::StructProducer pulses(std::move(producer), pulse_type());
    Pulse pulse{};
    for (std::uint64_t number = 0; number < kPulses; ++number) {
        pulse.timestamp = number * 1000;
        for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
            auto const height = sample < 50 ? 0 : 900 * 20 / (sample - 30);
            pulse.waveform[sample] = static_cast<std::uint16_t>(100 + height + number % 2);
        }
        pulses.append(pulse); // or many at once, as a std::span
    }
    pulses.finish();
}

} // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    dataset::CreateOptions options;
    options.force = true;
    auto const run =
        dataset::Writer::create(argv[1], {{pulse_type().table("left"), pulse_type().table("right")}}, options);
    auto left = std::async(std::launch::async, measure, run->producer("left"));
    auto right = std::async(std::launch::async, measure, run->producer("right"));
    left.get(); // throws what its thread threw
    right.get();
    auto const result = run->close(10'000'000'000);
    for (auto const& table : result.report.tables) {
        std::printf("%s: %llu rows\n", table.table.c_str(), static_cast<unsigned long long>(table.rows));
    }
} catch (base::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
