#include "thalweg/source/compass.h"
#include "thalweg/source/digitizer.h"
#include "thalweg/source/replay.h"
#include "thalweg/source/testing.h"

namespace thalweg::source::testing {
namespace {

std::unique_ptr<Source> digitizer(double records_per_s, bool waveforms = true) {
    DigitizerOptions options;
    options.channels = 2;
    options.record_samples = 600;
    options.pool_pulses = 32;
    options.record_limit = 300;
    options.rate.records_per_s = records_per_s;
    options.waveforms = waveforms;
    return make_digitizer(options);
}

std::unique_ptr<Source> replay(bool ragged) {
    std::vector<std::byte> file;
    auto const put = [&](auto value) {
        auto const bytes = std::as_bytes(std::span(&value, 1));
        file.insert(file.end(), bytes.begin(), bytes.end());
    };
    put(std::uint16_t{0xCAE8});
    for (std::uint16_t i = 0; i < 200; ++i) {
        put(std::uint16_t{0}), put(static_cast<std::uint16_t>(i % 2)), put(std::uint64_t{1000} * i);
        put(std::uint32_t{i}), put(std::uint8_t{1});
        auto const samples = std::uint32_t{20} + (ragged ? i % 7u : 0u);
        put(samples);
        for (std::uint32_t sample = 0; sample < samples; ++sample) put(static_cast<std::uint16_t>(i + sample));
    }
    return make_replay(parse_compass(file, "made", {}).tables, {.loops = 2, .batch_bytes = 500});
}

INSTANTIATE_TEST_SUITE_P(All, AnySource,
                         ::testing::Values(Candidate{"DigitizerAtMax", [] { return digitizer(0); }},
                                           Candidate{"DigitizerAtARate", [] { return digitizer(3'000); }},
                                           Candidate{"DigitizerWithoutSamples", [] { return digitizer(3'000, false); }},
                                           Candidate{"ReplayOfArrays", [] { return replay(false); }},
                                           Candidate{"ReplayOfLists", [] { return replay(true); }}),
                         [](auto const& candidate) { return candidate.param.name; });

} // namespace
} // namespace thalweg::source::testing
