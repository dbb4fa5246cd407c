// Multi-record acquisitions, for cards without the option CST: the card takes so many records, and none while they are
// fetched.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "thalweg/source/acqiris/acquisition.h"

namespace thalweg::source::acqiris {
namespace {

constexpr std::int32_t kIsTrue = 1; // as IVI says of states
constexpr double kPicoseconds = 1e12;

class MultiRecord final : public Acquisition {
  public:
    MultiRecord(Instrument& card, Options const& options) : card_(card), options_(options) {
        auto const records = static_cast<std::int64_t>(options.batch);
        std::int64_t size = 0;
        card_.call("QueryMinWaveformMemory", card_.functions().QueryMinWaveformMemory, 16, records, std::int64_t{0},
                   static_cast<std::int64_t>(options.samples), &size);
        memory_.resize(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)));
        points_.resize(options.batch);
        firsts_.resize(options.batch);
        for (auto* each : {&offsets_s_, &seconds_, &fractions_s_}) each->resize(options.batch);
    }

    void start() override {
        next_channel_ = 0;
        is_complete_ = is_stopping_ = is_over_ = false;
    }

    void stop() override { is_stopping_ = true; }

    Read read(std::uint32_t channel, Records& records) override {
        if (is_over_) return Read::drained;
        if (channel != next_channel_) return Read::nothing;
        if (channel == 0 && !is_complete_ && !complete()) return is_over_ ? Read::drained : Read::nothing;
        fetch(channel, records);
        next_channel_ = (channel + 1) % options_.channels;
        if (next_channel_ == 0) begin_again();
        return records.count() > 0 ? Read::records : Read::nothing;
    }

    bool has_overflowed() const override { return false; }
    Counted counted(std::uint32_t /*channel*/) const override { return {}; }

  private:
    // Returns whether there are records to be fetched.
    bool complete() {
        auto const is_idle = card_.int32(Attribute::is_idle) == kIsTrue;
        if (!is_idle && !is_stopping_) return false;
        if (!is_idle) card_.call("Abort", card_.functions().Abort);
        to_fetch_ = is_idle ? static_cast<std::int64_t>(options_.batch) : card_.int64(Attribute::acquired_records);
        is_complete_ = to_fetch_ > 0;
        is_over_ = !is_complete_;
        return is_complete_;
    }

    void begin_again() {
        is_complete_ = false;
        is_over_ = is_stopping_;
        if (!is_stopping_) card_.call("InitiateAcquisition", card_.functions().InitiateAcquisition);
    }

    void fetch(std::uint32_t channel, Records& records) {
        std::int64_t count = 0;
        double step_s = 0, scale = 0, scale_offset = 0;
        card_.call("FetchMultiRecordWaveformInt16", card_.functions().FetchMultiRecordWaveformInt16,
                   fmt::format("Channel{}", channel + 1).c_str(), std::int64_t{0}, to_fetch_, std::int64_t{0},
                   static_cast<std::int64_t>(options_.samples), static_cast<std::int64_t>(memory_.size()),
                   memory_.data(), &count, points_.data(), firsts_.data(), offsets_s_.data(), seconds_.data(),
                   fractions_s_.data(), &step_s, &scale, &scale_offset);
        records.times_ps.clear();
        records.t0_ps.clear();
        auto const rows = static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, to_fetch_));
        auto const samples = static_cast<std::int64_t>(options_.samples);
        records.samples.resize(rows * options_.samples * sizeof(std::int16_t));
        for (std::size_t row = 0; row < rows; ++row) {
            auto const first = firsts_[row];
            if (first < 0 || points_[row] < samples || first + samples > static_cast<std::int64_t>(memory_.size()))
                throw DriverError(fmt::format("record {} has {} samples from {} on, and {} were wanted", row,
                                              points_[row], first, samples),
                                  0);
            std::memcpy(records.samples.data() + row * options_.samples * sizeof(std::int16_t), memory_.data() + first,
                        options_.samples * sizeof(std::int16_t));
            // Whole seconds apart from their fraction: a double has no picoseconds behind a few hours.
            records.times_ps.push_back(static_cast<std::uint64_t>(std::llround(seconds_[row])) * 1'000'000'000'000 +
                                       static_cast<std::uint64_t>(std::llround(fractions_s_[row] * kPicoseconds)));
            records.t0_ps.push_back(static_cast<float>(offsets_s_[row] * kPicoseconds));
        }
    }

    Instrument& card_;
    Options const& options_;
    std::vector<std::int16_t> memory_;
    std::vector<std::int64_t> points_, firsts_;
    std::vector<double> offsets_s_, seconds_, fractions_s_;
    std::int64_t to_fetch_ = 0;
    std::uint32_t next_channel_ = 0; // whose records are fetched next
    bool is_complete_ = false, is_stopping_ = false, is_over_ = false;
};

} // namespace

std::unique_ptr<Acquisition> make_records(Instrument& card, Options const& options) {
    return std::make_unique<MultiRecord>(card, options);
}

} // namespace thalweg::source::acqiris
