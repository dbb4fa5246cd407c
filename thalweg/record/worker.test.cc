#include "thalweg/record/worker.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/record/testing.h"
#include "thalweg/source/digitizer.h"

namespace thalweg::record {
namespace {

using namespace testing;

source::DigitizerOptions small_card(std::uint32_t channels) {
    return {.channels = channels, .record_samples = 256, .pool_pulses = 64};
}

model::Schema schema_of(source::Source const& source) {
    model::Schema schema;
    for (auto const& stream : source.streams()) schema.tables.push_back(stream.table);
    return schema;
}

class WorkerTest : public ::testing::Test {
  protected:
    void create(source::DigitizerOptions const& options) {
        source_ = source::make_digitizer(options);
        writer_ = dataset::Writer::create(path(), schema_of(*source_), {});
    }
    std::string path(std::string const& name = "run.h5") const { return directory_.file(name); }

    Directory directory_;
    std::unique_ptr<source::Source> source_;
    std::unique_ptr<dataset::Writer> writer_;
};

TEST_F(WorkerTest, RecordsWhatTheSourceGives) {
    auto options = small_card(3);
    options.record_limit = 1000;
    create(options);
    {
        Worker two(writer_->handle(), *source_, {0, 2}, {});
        Worker one(writer_->handle(), *source_, {1}, {});
        std::jthread const beside([&] { two.run(); });
        one.run();
    }
    writer_->close(kTimeoutNs);
    auto const recorded = read_row_sets(path());
    ASSERT_EQ(recorded.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(recorded[i], rows_of(*source_, i)) << i;
}

TEST_F(WorkerTest, StopsWhenItIsTold) {
    create(small_card(2));
    Worker worker(writer_->handle(), *source_, {0, 1}, {});
    std::jthread running([&] { worker.run(); });
    while (worker.results()[0].counters.rows < 1000) std::this_thread::yield();
    worker.stop();
    running.join();
    auto const report = writer_->close(kTimeoutNs).report;
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(report.tables[i].rows, worker.results()[i].counters.rows);
}

TEST_F(WorkerTest, StopRecordsWhatIsOnBoard) {
    auto options = small_card(1);
    options.rate.records_per_s = 100'000;
    options.start_ns = base::monotonic_ns() - 100'000'000; // a tenth of a second waits on board
    create(options);
    Worker worker(writer_->handle(), *source_, {0}, {});
    worker.stop();
    worker.run();
    auto const counters = worker.results()[0].counters;
    EXPECT_GT(counters.triggers, 1000u);
    EXPECT_EQ(counters.lost, 0u);
    EXPECT_EQ(writer_->close(kTimeoutNs).report.tables[0].rows, counters.triggers);
}

TEST_F(WorkerTest, TakesNothingWhilePaused) {
    create(small_card(1));
    Worker worker(writer_->handle(), *source_, {0}, {});
    worker.pause();
    std::jthread running([&] { worker.run(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(worker.results()[0].counters.rows, 0u);
    worker.resume();
    while (worker.results()[0].counters.rows < 10) std::this_thread::yield();
    worker.stop();
    worker.pause(); // stopping is for good
    running.join();
}

TEST_F(WorkerTest, NothingIsLostOrDoubledWhereFilesFollowEachOther) {
    auto options = small_card(2);
    options.rate.records_per_s = 50'000; // and no end: whenever the next file is there, more is to come
    create(options);
    Worker worker(writer_->handle(), *source_, {0, 1}, {});
    std::jthread running([&] { worker.run(); });
    while (worker.results()[0].counters.rows < 5000) std::this_thread::yield();
    auto const next = writer_->create_next(path("next.h5"), {});
    writer_->continue_in(*next);
    auto const first = writer_->close(kTimeoutNs).report.tables;
    for (std::size_t i = 0; i < 2; ++i)
        while (worker.results()[i].counters.rows <= first[i].rows) std::this_thread::yield();
    worker.stop();
    running.join();
    next->close(kTimeoutNs);
    auto const before = read_row_sets(path()), behind = read_row_sets(path("next.h5"));
    options.activity_hz = std::exchange(options.rate, {}).records_per_s;
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_GT(before[i].rows, 0u);
        EXPECT_GT(behind[i].rows, 0u);
        options.record_limit = before[i].rows + behind[i].rows;
        EXPECT_EQ(joined(before[i], behind[i]), rows_of(*source::make_digitizer(options), i));
    }
}

// Counts one thing of its own, beside a row of the emulator.
class Counting : public source::StreamReader {
  public:
    explicit Counting(std::unique_ptr<source::StreamReader> reader) : reader_(std::move(reader)) {}
    bool next(source::Batch& batch, std::uint64_t deadline_ns) override { return reader_->next(batch, deadline_ns); }
    bool ended() const override { return reader_->ended(); }
    source::Counters counters() const override {
        auto counters = reader_->counters();
        counters.named["cut_rows"] = counters.rows + 5;
        return counters;
    }
    void pause() override { reader_->pause(); }
    void resume() override { reader_->resume(); }

  private:
    std::unique_ptr<source::StreamReader> reader_;
};

class CountingSource : public source::Source {
  public:
    explicit CountingSource(source::Source& source) : source_(source) {}
    std::vector<source::Stream> const& streams() const override { return source_.streams(); }
    std::unique_ptr<source::StreamReader> open(std::size_t stream) override {
        return std::make_unique<Counting>(source_.open(stream));
    }
    std::map<std::string, std::string> metadata() const override { return source_.metadata(); }

  private:
    source::Source& source_;
};

TEST_F(WorkerTest, ShowsWhatASourceCountsByItsName) {
    auto options = small_card(1);
    options.record_limit = 100;
    create(options);
    CountingSource counting(*source_);
    Worker worker(writer_->handle(), counting, {0}, {});
    worker.run();
    std::map<std::string, std::uint64_t> named;
    while (named.empty()) named = writer_->status().ended.at(0).named;
    EXPECT_EQ(named.at("cut_rows"), 105u);
    EXPECT_EQ(named.at("triggers"), 100u);
    writer_->close(kTimeoutNs);
}

TEST_F(WorkerTest, AnEndedStreamLetsItsFileClose) {
    auto options = small_card(2);
    options.record_limit = 1;
    create(options);
    Worker worker(writer_->handle(), *source_, {0, 1}, {});
    worker.run();
    EXPECT_EQ(writer_->close(kTimeoutNs).report.producers, 2u); // while the worker still lives
}

} // namespace
} // namespace thalweg::record
