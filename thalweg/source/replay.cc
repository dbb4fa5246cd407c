#include "thalweg/source/replay.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/shared_number.h"
#include "thalweg/source/indexed_rows.h"
#include "thalweg/source/loop_clock.h"
#include "thalweg/source/wait.h"

namespace thalweg::source {
namespace {

class ReplayReader : public StreamReader {
  public:
    ReplayReader(std::shared_ptr<IndexedRows const> rows, std::shared_ptr<LoopClock const> clock,
                 ReplayOptions const& options)
        : rows_(std::move(rows)), clock_(std::move(clock)), loops_(options.loops), columns_(rows_->columns().size()) {
        if (clock_) timestamp_ = LoopClock::column_of(*rows_, options.timestamp);
        auto const row_bytes = rows_->rows() == 0 ? 1 : std::max<std::uint64_t>(1, rows_->bytes() / rows_->rows());
        batch_rows_ = std::max<std::uint64_t>(1, options.batch_bytes / row_bytes);
    }

    bool next(Batch& batch, std::uint64_t deadline_ns) override {
        if (ended()) return false;
        if (paused_) {
            sleep_until(deadline_ns);
            return false;
        }
        auto const count = std::min(batch_rows_, rows_->rows() - row_);
        for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i] = rows_->slice(i, row_, count);
        if (timestamp_ && loop_ > 0) continue_timestamps();
        batch = {.rows = count, .columns = columns_};
        advance(count);
        return true;
    }

    bool ended() const override { return rows_->rows() == 0 || (loops_ != 0 && loop_ == loops_); }

    Counters counters() const override { return {.triggers = handed_out_.get(), .rows = handed_out_.get()}; }

    void pause() override { paused_ = true; }
    void resume() override { paused_ = false; }

  private:
    // Continues the timestamps, the only column that is not handed out as it lies in memory.
    void continue_timestamps() {
        auto& column = columns_[*timestamp_];
        timestamps_.assign(column.begin(), column.end());
        clock_->advance(timestamps_, rows_->columns()[*timestamp_].scalar, loop_);
        column = timestamps_;
    }

    void advance(std::uint64_t count) {
        handed_out_.add(count);
        row_ += count;
        THALWEG_ASSERT(count > 0 && row_ <= rows_->rows(), "a batch has rows of one loop");
        if (row_ < rows_->rows()) return;
        row_ = 0;
        ++loop_;
    }

    std::shared_ptr<IndexedRows const> rows_;
    std::shared_ptr<LoopClock const> clock_;
    std::uint64_t loops_;
    std::uint64_t batch_rows_;
    std::optional<std::size_t> timestamp_;
    std::uint64_t loop_ = 0;
    std::uint64_t row_ = 0;
    bool paused_ = false;
    std::vector<std::span<std::byte const>> columns_;
    std::vector<std::byte> timestamps_;
    base::SharedNumber handed_out_;
};

class Replay : public Source {
  public:
    Replay(std::vector<RowSet> tables, ReplayOptions const& options) : options_(options) {
        model::Schema schema;
        for (auto const& it : tables) schema.tables.push_back(it.table);
        model::validate(schema);
        for (auto& it : tables) {
            streams_.push_back({it.table.name, it.table});
            tables_.push_back(std::make_shared<IndexedRows const>(std::move(it)));
        }
        if (options.loops != 1) clock_ = std::make_shared<LoopClock const>(tables_, options.timestamp);
    }

    std::vector<Stream> const& streams() const override { return streams_; }

    std::unique_ptr<StreamReader> open(std::size_t stream) override {
        if (stream >= streams_.size())
            base::fail_usage({fmt::format("no stream {}", stream), fmt::format("there are {}", streams_.size())});
        return std::make_unique<ReplayReader>(tables_[stream], clock_, options_);
    }

    std::map<std::string, std::string> metadata() const override {
        auto result = options_.metadata;
        result.insert({{"source", "replay"},
                       {"clock_domain", "that of the input"},
                       {"loops", options_.loops == 0 ? "endless" : fmt::to_string(options_.loops)}});
        if (clock_) result["loop_step"] = fmt::format("{} of '{}'", clock_->step(), options_.timestamp);
        return result;
    }

    model::Schema schema() const override {
        auto schema = Source::schema();
        schema.attributes = options_.attributes;
        schema.groups = options_.groups;
        return schema;
    }

    std::vector<model::LeftOut> left_out() const override { return options_.left_out; }

  private:
    ReplayOptions options_;
    std::vector<Stream> streams_;
    std::vector<std::shared_ptr<IndexedRows const>> tables_;
    std::shared_ptr<LoopClock const> clock_; // set if there is more than one loop
};

} // namespace

std::unique_ptr<Source> make_replay(std::vector<RowSet> tables, ReplayOptions const& options) {
    return std::make_unique<Replay>(std::move(tables), options);
}

} // namespace thalweg::source
