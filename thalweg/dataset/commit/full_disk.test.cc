// A disk that is full, and has room again: rows are refused while it is full, and none that was taken is lost.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <thread>

#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kRows = 20; // that are given to one append

struct Case {
    bool rntuple;
    unsigned seal_threads;
};

class FullDisk : public ::testing::TestWithParam<Case> {
  protected:
    FullDisk() {
        writer_ = Writer::create_on(file_, {journal_, std::make_shared<FaultySegments>(faults_)}, container_.format,
                                    container_.head(), options());
    }

    static CreateOptions options() {
        auto options = small_run_options();
        options.write.seal_threads = GetParam().seal_threads;
        options.write.staging.memory_bytes = 256 << 10;
        return options;
    }
    static std::shared_ptr<storage::Faults> make_faults() {
        storage::FaultPlan plan;
        plan.space_bytes = 24 << 20;
        return std::make_shared<storage::Faults>(plan);
    }
    std::shared_ptr<storage::FaultyStorage> make_file(std::string const& path) const {
        return std::make_shared<storage::FaultyStorage>(storage::make_memory_storage(path), faults_);
    }

    // Gives rows to the producer until it has all up to `end`, or an error comes, whose code this returns.
    int append_up_to(std::uint64_t end, Producer& producer) {
        try {
            while (producer.rows() < end)
                append_events(producer, 0, producer.rows(), std::min(kRows, end - producer.rows()));
        } catch (base::SystemError const& error) {
            said_ = error.what();
            return error.code;
        }
        return 0;
    }

    void expect_rows(std::uint64_t rows) const {
        EXPECT_TRUE(container_.is_complete(*file_));
        EXPECT_EQ(expect_right(*file_)[0], rows);
    }

    Container container_ = GetParam().rntuple ? rntuple_container() : hdf5_container();
    std::shared_ptr<storage::Faults> faults_ = make_faults();
    std::shared_ptr<storage::FaultyStorage> file_ = make_file(container_.path);
    std::shared_ptr<storage::FaultyStorage> journal_ = make_file(container_.journal_path());
    std::unique_ptr<Writer> writer_;
    std::string said_;
};

std::string notes_of(CompleteResult const& result) {
    std::string text;
    for (auto const& note : result.report.notes) text += note + "; ";
    return text;
}

constexpr std::uint64_t kManyRows = 400'000; // more than there is room for

TEST_P(FullDisk, TheSameProducerGoesOnOnceThereIsRoom) {
    auto producer = writer_->producer("events");
    EXPECT_EQ(append_up_to(kManyRows, producer), ENOSPC);
    EXPECT_EQ(said_.find("run."), 0u) << said_;
    EXPECT_NE(said_.find("takes no more rows at present"), std::string::npos) << said_;
    EXPECT_NE(writer_->status().failure, "");
    auto const taken = producer.rows();
    EXPECT_GT(taken, 1000u);
    EXPECT_EQ(append_up_to(kManyRows, producer), ENOSPC) << "the disk is still full";
    EXPECT_EQ(producer.rows(), taken);
    faults_->set_space(1u << 30);
    auto const end = taken + 50'000; // much more than its memory has room for
    for (int i = 0; i < 1000 && append_up_to(end, producer) == ENOSPC; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(producer.rows(), end) << said_;
    EXPECT_EQ(writer_->status().failure, "");
    producer.finish();
    EXPECT_EQ(notes_of(writer_->close(kTimeoutNs)).find("the disk"), std::string::npos);
    expect_rows(end);
}

TEST_P(FullDisk, AnotherProducerGoesOnOnceThereIsRoom) {
    auto producer = writer_->producer("events");
    EXPECT_EQ(append_up_to(kManyRows, producer), ENOSPC);
    auto const taken = producer.rows();
    producer.finish();
    auto other = writer_->producer("events");
    EXPECT_EQ(message_of([&] { append_events(other, 1, 0, kRows); }).find("run."), 0u);
    EXPECT_EQ(other.rows(), 0u);
    faults_->set_space(1u << 30);
    for (std::uint64_t i = 0; i < 1000 && other.rows() < 20'000; ++i) {
        if (message_of([&] { append_events(other, 1, other.rows(), kRows); }).empty()) continue;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    other.finish();
    auto const others = other.rows();
    EXPECT_GT(others, 0u);
    writer_->close(kTimeoutNs);
    EXPECT_TRUE(container_.is_complete(*file_));
    auto const counts = expect_right(*file_);
    EXPECT_EQ(counts.at(0), taken);
    EXPECT_EQ(counts.at(1), others);
}

TEST_P(FullDisk, OneCloseCompletesTheFileWithAllRows) {
    auto producer = writer_->producer("events");
    EXPECT_EQ(append_up_to(kManyRows, producer), ENOSPC);
    EXPECT_EQ(message_of([&] { producer.finish(); }), "");
    EXPECT_NE(notes_of(writer_->close(kTimeoutNs)).find("the disk was full"), std::string::npos);
    expect_rows(producer.rows());
}

// It takes the first of them as long as there is memory, and says how many.
TEST_P(FullDisk, AnAppendOfManyRowsSaysHowManyItHasTaken) {
    auto producer = writer_->producer("events");
    EXPECT_EQ(append_up_to(kManyRows, producer), ENOSPC);
    auto const before = producer.rows();
    faults_->set_space((24 << 20) + (6 << 20)); // a little
    int code = ENOSPC;
    for (int i = 0; i < 1000 && producer.rows() == before; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        try {
            append_events(producer, 0, before, 200'000);
        } catch (base::SystemError const& error) {
            said_ = error.what();
            code = error.code;
        }
    }
    EXPECT_EQ(code, ENOSPC);
    EXPECT_NE(said_.find(fmt::format("(the first {} of these 200000 rows are taken)", producer.rows() - before)),
              std::string::npos)
        << said_;
    producer.finish();
    writer_->close(kTimeoutNs);
    expect_rows(producer.rows());
}

TEST_P(FullDisk, AUnitThatWasRefusedIsDoneAgain) {
    std::uint64_t committed = 0;
    auto const try_unit = [&] {
        auto unit = writer_->work_unit(static_cast<std::int64_t>(committed));
        append_events(unit["events"], 0, committed * 400, 400);
        committed += unit.commit() ? 1 : 0;
    };
    auto const work_up_to = [&](std::uint64_t end) {
        return message_of([&] {
            while (committed < end) try_unit();
        });
    };
    EXPECT_NE(work_up_to(1000).find("takes no more rows at present"), std::string::npos);
    EXPECT_GT(committed, 3u);
    auto const end = committed + 100;
    faults_->set_space(1u << 30);
    for (int i = 0; i < 1000 && !work_up_to(end).empty(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(committed, end);
    EXPECT_EQ(writer_->close(kTimeoutNs).report.units, end);
    EXPECT_TRUE(container_.is_complete(*file_));
    auto ids = column_of<std::uint64_t>(container_.format.load(*file_), 1, *file_);
    std::ranges::sort(ids); // a unit that was dropped may have ended its producer: the order is that of producers
    ASSERT_EQ(ids.size(), end * 400);
    for (std::uint64_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], i);
}

// Hours on a full disk must not use up what is kept for the close.
TEST_P(FullDisk, TheJournalDoesNotGrowByItself) {
    auto producer = writer_->producer("events");
    EXPECT_EQ(append_up_to(kManyRows, producer), ENOSPC);
    auto const settled = [&] {
        auto const before = writer_->status().journal_bytes;
        std::this_thread::sleep_for(std::chrono::milliseconds(100)); // a hundred flush intervals
        return writer_->status().journal_bytes == before;
    };
    bool is_quiet = false;
    for (int i = 0; i < 50 && !is_quiet; ++i) is_quiet = settled();
    EXPECT_TRUE(is_quiet);
    EXPECT_LT(writer_->status().durable_lag_ns, 10'000'000'000u);
    producer.finish();
    writer_->close(kTimeoutNs);
    expect_rows(producer.rows());
}

INSTANTIATE_TEST_SUITE_P(Containers, FullDisk,
                         ::testing::Values(Case{false, 0}, Case{false, 2}, Case{true, 0}, Case{true, 2}),
                         [](auto const& each) {
                             return fmt::format("{}_{}", each.param.rntuple ? "root" : "h5", each.param.seal_threads);
                         });

} // namespace
} // namespace thalweg::dataset
