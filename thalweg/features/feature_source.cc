#include "thalweg/features/feature_source.h"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/error.h"
#include "thalweg/base/shared_number.h"

namespace thalweg::features {
namespace {

constexpr std::uint64_t kGatheredRows = 1024;

class FeatureStream : public source::StreamReader {
  public:
    FeatureStream(std::unique_ptr<source::StreamReader> input, model::Table const& table,
                  FeatureRowOptions const& options)
        : input_(std::move(input)), rows_(table, options), gathers_(options.keep_one_of == 0),
          gathered_(model::flatten(rows_.table()).size()) {}

    bool next(source::Batch& batch, std::uint64_t deadline_ns) override {
        if (gathers_) return gather(batch, deadline_ns);
        source::Batch given;
        if (!input_->next(given, deadline_ns)) return false;
        batch = rows_.take(given);
        count();
        return true;
    }

    bool ended() const override { return !failure_ && input_->ended(); }
    void pause() override { input_->pause(); }
    void resume() override { input_->resume(); }
    source::Remarks remarks() const override { return input_->remarks(); }

    source::Counters counters() const override {
        auto counters = input_->counters();
        counters.named["saturated_pulses"] = saturated_.get();
        counters.named["piled_up_pulses"] = piled_up_.get();
        counters.named["rows_without_pulse"] = without_pulse_.get();
        return counters;
    }

  private:
    // Rows without their samples are small: many are handed on at once. What fails does so behind the rows before it.
    bool gather(source::Batch& batch, std::uint64_t deadline_ns) {
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
        for (auto& column : gathered_) column.clear();
        std::uint64_t rows = 0;
        try {
            for (source::Batch given; rows < kGatheredRows && input_->next(given, rows == 0 ? deadline_ns : 0);) {
                auto const made = rows_.take(given);
                count();
                for (std::size_t i = 0; i < gathered_.size(); ++i)
                    gathered_[i].insert(gathered_[i].end(), made.columns[i].begin(), made.columns[i].end());
                rows += made.rows;
            }
        } catch (base::Error const&) {
            if (rows == 0) throw;
            failure_ = std::current_exception();
        }
        columns_.assign(gathered_.begin(), gathered_.end());
        batch = {.rows = rows, .columns = columns_};
        return rows > 0;
    }

    void count() {
        auto const& counted = rows_.flag_counts();
        saturated_.add(counted.saturated);
        piled_up_.add(counted.piled_up);
        without_pulse_.add(counted.without_pulse);
    }

    std::unique_ptr<source::StreamReader> input_;
    FeatureRows rows_;
    bool gathers_;
    std::vector<std::vector<std::byte>> gathered_;
    std::vector<std::span<std::byte const>> columns_;
    std::exception_ptr failure_;
    base::SharedNumber saturated_, piled_up_, without_pulse_;
};

class FeatureSource : public source::Source {
  public:
    FeatureSource(source::Source& input, FeatureRowOptions options, std::string configuration)
        : input_(input), options_(std::move(options)), configuration_(std::move(configuration)),
          streams_(input.streams()) {
        bool any = false;
        for (auto& stream : streams_) {
            if (!has_samples(stream.table, options_)) continue;
            stream.table = FeatureRows(stream.table, options_).table();
            any = true;
        }
        if (any) return;
        base::fail_usage({"there are no pulses that could have features",
                          fmt::format("no table has a column '{}'", options_.waveform), "set waveform in [features]"});
    }

    std::vector<source::Stream> const& streams() const override { return streams_; }

    std::unique_ptr<source::StreamReader> open(std::size_t stream) override {
        auto reader = input_.open(stream);
        auto const& table = input_.streams()[stream].table;
        if (!has_samples(table, options_)) return reader;
        return std::make_unique<FeatureStream>(std::move(reader), table, options_);
    }

    std::map<std::string, std::string> metadata() const override {
        auto about = input_.metadata();
        about["features"] = configuration_;
        about["waveforms"] = waveforms_text(options_);
        return about;
    }

    model::Schema schema() const override {
        auto schema = input_.schema();
        for (auto& table : schema.tables)
            for (auto const& stream : streams_)
                if (stream.table.name == table.name) table = stream.table;
        return schema;
    }

    std::vector<model::LeftOut> left_out() const override { return input_.left_out(); }

  private:
    source::Source& input_;
    FeatureRowOptions options_;
    std::string configuration_;
    std::vector<source::Stream> streams_;
};

} // namespace

std::string waveforms_text(FeatureRowOptions const& options) {
    if (options.keep_one_of == 0) return "none";
    if (options.keep_one_of == 1) return "all";
    return fmt::format("1/{}, in slices of {} ms that all channels share", options.keep_one_of,
                       kSlicePs / 1'000'000'000);
}

std::unique_ptr<source::Source> with_features(source::Source& source, FeatureRowOptions const& options,
                                              std::string const& configuration) {
    return std::make_unique<FeatureSource>(source, options, configuration);
}

} // namespace thalweg::features
