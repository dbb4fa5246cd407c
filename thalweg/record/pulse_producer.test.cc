#include "thalweg/record/pulse_producer.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <type_traits>

#include "thalweg/base/error.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/features/feature_source.h"
#include "thalweg/record/testing.h"
#include "thalweg/source/digitizer.h"

namespace thalweg::record {
namespace {

using namespace testing;
using model::Field, model::Kind, model::Scalar;

constexpr std::size_t kSamples = 200;
constexpr std::size_t kPulseBegin = 50, kPulseSamples = 20;
constexpr std::uint16_t kBaseline = 100, kFull = 1023; // of an ADC of 10 bits

template <typename Value> constexpr Scalar kScalarOf = Scalar::uint64;
template <> constexpr Scalar kScalarOf<std::int64_t> = Scalar::int64;
template <> constexpr Scalar kScalarOf<double> = Scalar::float64;

// Samples of 1 ns: boxes of these heights above the baseline, each in a record of its own. 0: a record without pulse.
std::vector<std::uint16_t> boxes(std::vector<std::uint16_t> const& heights) {
    std::vector<std::uint16_t> samples(heights.size() * kSamples, kBaseline);
    for (std::size_t i = 0; i < heights.size(); ++i) {
        auto const begin = samples.begin() + static_cast<std::ptrdiff_t>(i * kSamples + kPulseBegin);
        std::fill_n(begin, kPulseSamples, static_cast<std::uint16_t>(kBaseline + heights[i]));
    }
    return samples;
}

template <typename Value> model::Table table_of() {
    Field const values{.name = "values", .kind = Kind::list, .members = {{.scalar = Scalar::uint16}}};
    return {.name = "ch0",
            .fields = {{.name = "timestamp", .scalar = kScalarOf<Value>, .unit = "ns"},
                       {.name = "waveform", .kind = Kind::record, .members = {values}}}};
}

features::FeatureRowOptions options_of_test() { return {.pulse = {.bits = 10}, .sample_period_ns = 1}; }

template <typename Value> std::span<std::byte const> bytes_of(std::vector<Value> const& values) {
    return std::as_bytes(std::span(values));
}

// A run of one table, and what appends to it.
template <typename Time> class OnePulser {
  public:
    explicit OnePulser(features::FeatureRowOptions const& options = options_of_test())
        : rows_(table_of<Time>(), options), writer_(dataset::Writer::create(path(), {{rows_.table()}}, {})),
          producer_(writer_->producer("ch0")), pulses_(producer_, table_of<Time>(), options) {}

    void append(std::vector<Time> const& times, std::vector<std::uint16_t> const& heights) {
        std::vector<std::uint64_t> const lengths(times.size(), kSamples);
        auto const samples = boxes(heights);
        std::vector const columns{bytes_of(times), bytes_of(lengths), bytes_of(samples)};
        pulses_.append(times.size(), columns);
    }
    PulseProducer& pulses() { return pulses_; }

    // Closes the run. Returns its rows: timestamp, lengths, samples, energy, time, flags.
    source::RowSet rows() {
        producer_.finish();
        writer_->close(kTimeoutNs);
        return read_row_sets(path()).at(0);
    }

  private:
    std::string path() const { return directory_.file("run.h5"); }

    Directory directory_;
    features::FeatureRows rows_;
    std::unique_ptr<dataset::Writer> writer_;
    dataset::Producer producer_;
    PulseProducer pulses_;
};

template <typename Value> std::vector<Value> values_of(source::RowSet const& rows, std::size_t column) {
    std::vector<Value> values(rows.columns.at(column).size() / sizeof(Value));
    std::copy_n(rows.columns[column].data(), rows.columns[column].size(), reinterpret_cast<std::byte*>(values.data()));
    return values;
}

constexpr std::size_t kEnergy = 3, kTime = 4, kFlags = 5;

TEST(PulseProducer, AppendsWhatASourceWithFeaturesGives) {
    auto const card =
        source::make_digitizer({.channels = 1, .record_samples = 256, .pool_pulses = 64, .record_limit = 500});
    features::FeatureRowOptions const options{.pulse = {.bits = 10, .gate_begin_ns = -1, .gate_end_ns = 10}};
    auto const expected = rows_of(*features::with_features(*card, options, "{}"), 0);
    ASSERT_EQ(expected.rows, 500u);

    Directory const directory;
    auto const writer = dataset::Writer::create(directory.file("run.h5"), {{expected.table}}, {});
    {
        auto producer = writer->producer("ch0");
        PulseProducer pulses(producer, card->streams()[0].table, options);
        EXPECT_EQ(pulses.columns().size(), model::flatten(card->streams()[0].table).size());
        auto const reader = card->open(0);
        for (source::Batch batch; reader->next(batch, 0);) pulses.append(batch.rows, batch.columns);
        producer.finish();
    }
    writer->close(kTimeoutNs);
    EXPECT_EQ(read_row_sets(directory.file("run.h5")).at(0), expected);
}

TEST(PulseProducer, EnergiesTimesAndFlagsAreThoseOfThePulses) {
    OnePulser<std::uint64_t> pulser;
    pulser.append({1000, 5000}, {400, 0});
    pulser.append({9000}, {kFull - kBaseline});
    EXPECT_EQ(pulser.pulses().counts().saturated, 1u);
    EXPECT_EQ(pulser.pulses().counts().piled_up, 0u);
    EXPECT_EQ(pulser.pulses().counts().without_pulse, 1u);
    auto const rows = pulser.rows();
    ASSERT_EQ(rows.rows, 3u);
    auto const energies = values_of<float>(rows, kEnergy);
    EXPECT_NEAR(energies[0], 400.0 * kPulseSamples, 1);
    EXPECT_TRUE(std::isnan(energies[1]));
    EXPECT_NEAR(energies[2], (kFull - kBaseline) * 1.0 * kPulseSamples, 1);
    auto const times = values_of<std::uint64_t>(rows, kTime);
    EXPECT_NEAR(static_cast<double>(times[0]), (1000 + kPulseBegin) * 1e3, 1e3);
    EXPECT_EQ(times[1], 5'000'000u); // no pulse: the time is the timestamp
    EXPECT_EQ(times[2] - times[0], 8'000'000u);
    EXPECT_EQ(values_of<std::uint16_t>(rows, kFlags),
              (std::vector<std::uint16_t>{0, features::kNoPulse, features::kSaturated}));
    EXPECT_EQ(values_of<std::uint16_t>(rows, 2), boxes({400, 0, kFull - kBaseline}));
}

template <typename Time> class PulseTimes : public ::testing::Test {};
using SignedTimes = ::testing::Types<std::int64_t, double>;
TYPED_TEST_SUITE(PulseTimes, SignedTimes);

// They come before a start marker.
TYPED_TEST(PulseTimes, MayBeNegative) {
    OnePulser<TypeParam> pulser;
    pulser.append({-1'000'000, -static_cast<TypeParam>(kPulseBegin), 1'000'000}, {400, 400, 400});
    auto const rows = pulser.rows();
    EXPECT_EQ(rows.table.fields.at(3).name, "time");
    EXPECT_EQ(rows.table.fields.at(3).scalar, Scalar::int64);
    auto const times = values_of<std::int64_t>(rows, kTime);
    ASSERT_EQ(times.size(), 3u);
    EXPECT_EQ(times[2] - times[0], 2'000'000'000);
    EXPECT_LT(times[0], -999'000'000);
    EXPECT_LE(std::abs(times[1]), 1000); // the pulse is where the clock is 0
}

TEST(PulseProducer, SamplesAreThinnedOnBothSidesOfAStartMarker) {
    auto options = options_of_test();
    options.keep_one_of = 2;
    OnePulser<std::int64_t> pulser(options);
    constexpr std::int64_t kSliceNs = features::kSlicePs / 1000;
    pulser.append({-2 * kSliceNs, -kSliceNs, 0, kSliceNs}, {400, 400, 400, 400});
    EXPECT_EQ(values_of<std::uint64_t>(pulser.rows(), 1), (std::vector<std::uint64_t>{kSamples, 0, kSamples, 0}));
}

TEST(PulseProducer, RowsThatDoNotFitTheTableAreRefusedAndLeaveNothingBehind) {
    OnePulser<std::uint64_t> pulser;
    auto& pulses = pulser.pulses();
    std::vector<std::uint64_t> const times{1000, 2000}, lengths{kSamples, kSamples};
    auto const samples = boxes({400, 400});
    auto const refused = [&](std::vector<std::span<std::byte const>> const& columns) {
        return dataset::testing::message_of([&] { pulses.append(2, columns); });
    };
    auto const says = [](std::string const& text, std::string const& part) {
        return text.find(part) != std::string::npos ? "" : "not '" + part + "' but '" + text + "'";
    };
    EXPECT_EQ(says(refused({bytes_of(times), bytes_of(lengths)}), "2 columns of table 'ch0' were given"), "");
    EXPECT_EQ(says(refused({bytes_of(times).first(15), bytes_of(lengths), bytes_of(samples)}),
                   "column 'timestamp': 15 bytes were given (2 items of 8 bytes are needed)"),
              "");
    EXPECT_EQ(says(refused({bytes_of(times), bytes_of(lengths), bytes_of(samples).first(2 * kSamples)}),
                   "column 'waveform/values/*': 400 bytes were given (400 items of 2 bytes are needed)"),
              "");
    // The sum of lengths, or of their bytes, has no place in 64 bits.
    for (auto const most : {std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1} << 63}) {
        std::vector<std::uint64_t> const too_long{most, most};
        auto const said = refused({bytes_of(times), bytes_of(too_long), bytes_of(samples)});
        EXPECT_EQ(says(said, "column 'waveform/values"), "");
    }
    std::vector<std::uint64_t> const far{1000, std::numeric_limits<std::uint64_t>::max()};
    EXPECT_EQ(says(refused({bytes_of(far), bytes_of(lengths), bytes_of(samples)}), "cannot be counted in ps"), "");

    pulser.append({1000}, {400});
    EXPECT_EQ(pulses.counts().without_pulse, 0u);
    EXPECT_EQ(pulser.rows().rows, 1u);
}

TEST(PulseProducer, ATableWithoutSamplesIsRefused) {
    Directory const directory;
    model::Table const table{.name = "ch0", .fields = {{.name = "timestamp", .scalar = Scalar::uint64, .unit = "ns"}}};
    auto const writer = dataset::Writer::create(directory.file("run.h5"), {{table}}, {});
    auto producer = writer->producer("ch0");
    EXPECT_THROW(PulseProducer(producer, table, options_of_test()), base::UsageError);
}

} // namespace
} // namespace thalweg::record
