// Two threads write the pulses of two detectors into one file. Usage: two_threads FILE
#include <array>
#include <cstdint>
#include <cstdio>
#include <future>
#include <span>
#include <string>
#include <vector>

#include <thalweg/base/error.h>
#include <thalweg/dataset/writer.h>

using namespace thalweg;

namespace {

constexpr std::uint64_t kSamples = 512;
constexpr std::uint64_t kPulses = 20'000;

model::Table detector(std::string const& name) {
    model::Field timestamp{.name = "timestamp", .scalar = model::Scalar::uint64, .unit = "ns"};
    model::Field waveform{.name = "waveform", .scalar = model::Scalar::uint16, .shape = {kSamples}};
    return {.name = name, .fields = {timestamp, waveform}};
}

// One pulse a microsecond: a step that decays over a baseline of 100.
void measure(dataset::Producer producer) {
    std::vector<std::uint16_t> waveform(kSamples);
    for (std::uint64_t pulse = 0; pulse < kPulses; ++pulse) {
        for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
            auto const height = sample < 50 ? 0 : 900 * 20 / (sample - 30);
            waveform[sample] = static_cast<std::uint16_t>(100 + height + pulse % 2);
        }
        std::uint64_t const timestamp_ns = pulse * 1000;
        std::array<std::span<std::byte const>, 2> const columns{std::as_bytes(std::span(&timestamp_ns, 1)),
                                                                std::as_bytes(std::span(waveform))};
        producer.append(1, columns);
    }
    producer.finish();
}

} // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    auto const run = dataset::Writer::create(argv[1], {{detector("left"), detector("right")}}, {.force = true});
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
