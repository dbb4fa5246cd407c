#include "thalweg/source/digitizer.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"

namespace thalweg::source {
namespace {

DigitizerOptions small_options() {
    DigitizerOptions options;
    options.record_samples = 1200;
    options.pool_pulses = 128;
    options.record_limit = 500;
    return options;
}

template <typename Value> Value value_of(Batch const& batch, std::size_t column) {
    Value value;
    std::memcpy(&value, batch.columns[column].data(), sizeof value);
    return value;
}

std::span<std::uint16_t const> samples_of(Batch const& batch) {
    auto const bytes = batch.columns[3];
    return {reinterpret_cast<std::uint16_t const*>(bytes.data()), bytes.size() / 2};
}

// Returns a checksum of all bytes of a stream, in order.
std::uint64_t checksum(Source& source, std::size_t stream) {
    auto const reader = source.open(stream);
    std::vector<std::uint64_t> checksums;
    for (Batch batch; reader->next(batch, 0);)
        for (auto const column : batch.columns) checksums.push_back(base::xxh3(column));
    EXPECT_TRUE(reader->ended());
    return base::xxh3(std::as_bytes(std::span(checksums)));
}

std::vector<std::uint64_t> checksums(DigitizerOptions const& options) {
    auto const source = make_digitizer(options);
    std::vector<std::uint64_t> result;
    for (std::size_t i = 0; i < source->streams().size(); ++i) result.push_back(checksum(*source, i));
    return result;
}

TEST(Digitizer, PulsesRiseWhereT0SaysAndAreClippedAtTenBits) {
    auto options = small_options();
    options.gain_adc_per_kev = 5;
    options.activity_hz = 100; // no record has a second pulse
    auto const reader = make_digitizer(options)->open(0);
    std::uint16_t highest = 0;
    for (Batch batch; reader->next(batch, 0);) {
        auto const samples = samples_of(batch);
        auto const begin = -value_of<float>(batch, 1) / value_of<float>(batch, 2);
        EXPECT_GE(begin, 120);
        EXPECT_LE(begin, 121);
        auto const baseline = std::accumulate(samples.begin(), samples.begin() + 120, 0.0) / 120;
        EXPECT_NEAR(baseline, options.baseline_adc, 1);
        auto const peak = std::max_element(samples.begin(), samples.end());
        EXPECT_GT(peak - samples.begin(), begin + 20);
        EXPECT_LT(peak - samples.begin(), begin + 300);
        highest = std::max(highest, *peak);
    }
    EXPECT_EQ(highest, 1023);
}

TEST(Digitizer, TimestampsAscendAtTheRateAskedFor) {
    auto options = small_options();
    options.record_limit = 20'000;
    auto const reader = make_digitizer(options)->open(2);
    std::uint64_t last_ps = 0;
    for (Batch batch; reader->next(batch, 0);) {
        auto const time_ps = value_of<std::uint64_t>(batch, 0);
        ASSERT_TRUE(last_ps == 0 || time_ps >= last_ps + 120'000) << "a record lasts 120 ns";
        last_ps = time_ps;
    }
    EXPECT_NEAR(20'000 / (static_cast<double>(last_ps) * 1e-12), options.activity_hz, 0.03 * options.activity_hz);
    EXPECT_GT(reader->counters().piled_up, 0u);
}

TEST(Digitizer, SeedGivesTheBytes) {
    auto const options = small_options();
    auto other = options;
    other.seed = 2;
    auto const once = checksums(options);
    EXPECT_EQ(once, checksums(options));
    auto const differently = checksums(other);
    for (std::size_t i = 0; i < once.size(); ++i) {
        EXPECT_NE(once[i], differently[i]);
        EXPECT_NE(once[i], once[(i + 1) % once.size()]);
    }
}

TEST(Digitizer, ProcessesThatOpenOneChannelEachSeeTheSameRows) {
    auto const options = small_options();
    auto const together = checksums(options);
    for (std::size_t i = 0; i < together.size(); ++i) {
        auto const child = ::fork();
        if (child == 0) ::_exit(checksum(*make_digitizer(options), i) == together[i] ? 0 : 1);
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << "channel " << i;
    }
}

TEST(Digitizer, DurationIsOfTheCardsClock) {
    auto options = small_options();
    options.record_limit = 0;
    options.duration_ns = 50'000'000;
    auto const reader = make_digitizer(options)->open(0);
    std::uint64_t rows = 0;
    for (Batch batch; reader->next(batch, 0); ++rows) ASSERT_LT(value_of<std::uint64_t>(batch, 0), 50'000'000'000u);
    EXPECT_NEAR(static_cast<double>(rows), 5000, 300);
}

TEST(Digitizer, PausedItGivesNothingAndGoesOnWhereItWas) {
    auto const source = make_digitizer(small_options());
    auto const paused = source->open(0);
    auto const reference = source->open(0);
    Batch batch, expected;
    ASSERT_TRUE(paused->next(batch, 0) && reference->next(expected, 0));
    paused->pause();
    auto const deadline_ns = base::monotonic_ns() + 2'000'000;
    EXPECT_FALSE(paused->next(batch, deadline_ns));
    EXPECT_GE(base::monotonic_ns(), deadline_ns);
    EXPECT_FALSE(paused->ended());
    paused->resume();
    ASSERT_TRUE(paused->next(batch, 0) && reference->next(expected, 0));
    EXPECT_EQ(value_of<std::uint64_t>(batch, 0), value_of<std::uint64_t>(expected, 0));
}

TEST(DigitizerOptions, RatesAndIsotopesAreRead) {
    EXPECT_TRUE(parse_rate("max").is_max());
    EXPECT_EQ(parse_rate("1000").records_per_s, 1000);
    EXPECT_EQ(parse_rate("1000/s").records_per_s, 1000);
    EXPECT_EQ(parse_rate("2.5GB/s").bytes_per_s, 2.5e9);
    for (auto const* text : {"", "/s", "fast", "-3", "0", "1000/h", "nan", "GB/s", "1e-30/s"})
        EXPECT_THROW(parse_rate(text), base::UsageError) << text;
    for (auto const isotope : {Isotope::none, Isotope::hf181, Isotope::in111})
        EXPECT_EQ(parse_isotope(name_of(isotope)), isotope);
    EXPECT_THROW(parse_isotope("60Co"), base::UsageError);
}

TEST(DigitizerOptions, NonsenseIsRefused) {
    auto const refused = [](auto const& change) {
        DigitizerOptions options;
        change(options);
        EXPECT_THROW(make_digitizer(options), base::UsageError);
    };
    refused([](auto& options) { options.channels = 0; });
    refused([](auto& options) { options.record_samples = 0; });
    refused([](auto& options) { options.sample_rate_hz = 0; });
    refused([](auto& options) { options.pretrigger_fraction = 1; });
    refused([](auto& options) { options.coincidence_fraction = 1.5; });
    refused([](auto& options) { options.onboard_bytes = 100; });
    refused([](auto& options) { options.pool_pulses = 0; });
    refused([](auto& options) { options.rate.records_per_s = 950'000; }); // records would touch
    refused([](auto& options) { options.activity_hz = 0; });
}

} // namespace
} // namespace thalweg::source
