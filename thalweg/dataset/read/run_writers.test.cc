#include "thalweg/dataset/read/run_writers.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "thalweg/base/clock.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/lock.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/test_bad_day.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

class RunWritersOf : public ::testing::Test {
  protected:
    RunWritersOf()
        : path_(directory_.file("run.h5")), writer_(Writer::create(path_, events(), small_shared_options())) {
        auto producer = writer_->producer("events");
        append_events(producer, 0, 0, 20);
        producer.finish();
    }

    Directory directory_;
    std::string path_;
    std::unique_ptr<Writer> writer_;
};

TEST_F(RunWritersOf, ARunIsAliveAndThenEnded) {
    auto const reader = Reader::open(path_);
    EXPECT_EQ(writers_of(*reader).state, WriterState::alive);
    writer_->abandon();
    writer_.reset();
    EXPECT_EQ(writers_of(*reader).state, WriterState::ended);
}

TEST_F(RunWritersOf, ARunThatWasClosedMeanwhileWasNotLeft) {
    auto const reader = Reader::open(path_);
    ASSERT_TRUE(reader->is_open_run());
    writer_->close(kTimeoutNs);
    auto const writers = writers_of(*reader);
    EXPECT_EQ(writers.state, WriterState::unknown);
    EXPECT_NE(writers.why.find("closed meanwhile"), std::string::npos) << writers.why;
}

TEST_F(RunWritersOf, ACopyWithoutItsJournalHasNone) {
    auto const file = storage::open_file_storage(path_, storage::OpenMode::read_only, storage::Engine::posix);
    while (!format::hdf5::ours::has_interim_superblock(*file)) base::sleep_ns(1'000'000);
    writer_->abandon();
    auto const copy = directory_.file("copy.h5");
    std::filesystem::copy_file(path_, copy);
    auto const reader = Reader::open(copy);
    ASSERT_TRUE(reader->is_open_run());
    EXPECT_EQ(writers_of(*reader).state, WriterState::gone);
}

TEST_F(RunWritersOf, ProcessesOfAnotherContainerAreNotJudged) {
    auto const ledger = Ledger::attach(writer_->handle());
    auto const reader = Reader::open(path_);
    ledger->head().pid_namespace ^= 1;
    auto const writers = writers_of(*reader);
    EXPECT_EQ(writers.state, WriterState::unknown);
    EXPECT_NE(writers.why.find("another container"), std::string::npos) << writers.why;
    ledger->head().pid_namespace ^= 1;
    writer_->close(kTimeoutNs);
}

// Its memory cannot be seen, as from a container that has a /dev/shm of its own.
TEST_F(RunWritersOf, AJournalThatAProcessHoldsWasNotLeft) {
    writer_->abandon();
    writer_.reset();
    auto const reader = Reader::open(path_);
    remove_memory(reader->head().id, {});
    auto const lock = lock_shared(path_ + ".journal");
    auto const writers = writers_of(*reader);
    EXPECT_EQ(writers.state, WriterState::unknown);
    EXPECT_NE(writers.why.find("holds its journal"), std::string::npos) << writers.why;
}

} // namespace
} // namespace thalweg::dataset
