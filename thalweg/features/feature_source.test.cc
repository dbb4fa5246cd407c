#include "thalweg/features/feature_source.h"

#include <array>
#include <gtest/gtest.h>
#include <limits>
#include <utility>

#include "thalweg/base/error.h"

namespace thalweg::features {
namespace {

constexpr std::size_t kSamples = 200;

// One row a batch: a pulse at each of these times.
class PulseReader : public source::StreamReader {
  public:
    explicit PulseReader(std::vector<std::uint64_t> times_ns) : times_ns_(std::move(times_ns)) {
        samples_.fill(100);
        std::fill_n(samples_.begin() + 50, 20, 900);
    }
    bool next(source::Batch& batch, std::uint64_t) override {
        if (ended()) return false;
        columns_ = {std::as_bytes(std::span(&times_ns_[next_++], 1)), std::as_bytes(std::span(samples_))};
        batch = {.rows = 1, .columns = columns_};
        return true;
    }
    bool ended() const override { return next_ == times_ns_.size(); }
    source::Counters counters() const override { return {}; }
    void pause() override {}
    void resume() override {}

  private:
    std::vector<std::uint64_t> times_ns_;
    std::array<std::uint16_t, kSamples> samples_;
    std::array<std::span<std::byte const>, 2> columns_;
    std::size_t next_ = 0;
};

class Pulses : public source::Source {
  public:
    explicit Pulses(std::vector<std::uint64_t> times_ns) : times_ns_(std::move(times_ns)) {}
    std::vector<source::Stream> const& streams() const override { return streams_; }
    std::unique_ptr<source::StreamReader> open(std::size_t) override {
        return std::make_unique<PulseReader>(times_ns_);
    }
    std::map<std::string, std::string> metadata() const override { return {}; }

  private:
    std::vector<std::uint64_t> times_ns_;
    std::vector<source::Stream> streams_{
        {"ch0",
         {.name = "ch0",
          .fields = {{.name = "timestamp", .scalar = model::Scalar::uint64, .unit = "ns"},
                     {.name = "waveform", .scalar = model::Scalar::uint16, .shape = {kSamples}}}}}};
};

TEST(FeatureSource, WhatFailsDoesSoBehindTheRowsBefore) {
    Pulses pulses({1000, 2000, std::numeric_limits<std::uint64_t>::max(), 4000});
    FeatureRowOptions options{.pulse = {.bits = 10}, .sample_period_ns = 1};
    options.keep_one_of = 0;
    auto const reader = with_features(pulses, options, "{}")->open(0);
    source::Batch batch;
    ASSERT_TRUE(reader->next(batch, 0));
    EXPECT_EQ(batch.rows, 2u);
    EXPECT_FALSE(reader->ended());
    EXPECT_THROW(reader->next(batch, 0), base::DataError);
    ASSERT_TRUE(reader->next(batch, 0));
    EXPECT_EQ(batch.rows, 1u);
    EXPECT_TRUE(reader->ended());
}

} // namespace
} // namespace thalweg::features
