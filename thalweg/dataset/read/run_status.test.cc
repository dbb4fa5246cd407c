#include "thalweg/dataset/read/run_status.h"

#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/status_board.h"
#include "thalweg/dataset/test_bad_day.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kSecond = 1'000'000'000;

std::uint64_t rows_of(NodeFigures const& figures) {
    std::uint64_t rows = 0;
    for (auto const& ended : figures.ended) rows += ended.rows;
    for (auto const& producer : figures.producers) rows += producer.status.rows;
    return rows;
}

NodeStatus only_node(Reader const& reader) {
    auto status = status_of(reader);
    EXPECT_FALSE(status.is_closed);
    EXPECT_EQ(status.nodes.size(), 1u);
    return status.nodes.empty() ? NodeStatus{} : std::move(status.nodes.front());
}

// A process that writes until it is killed: one producer that has ended with 7 rows, and one at work with 13.
class WritingChild {
  public:
    explicit WritingChild(std::string const& path) {
        int ends[2];
        if (::pipe(ends) != 0) std::abort();
        pid_ = ::fork();
        if (pid_ == 0) {
            write_until_killed(path, ends[1]);
            ::_exit(0);
        }
        ::close(ends[1]);
        char ready = 0;
        EXPECT_EQ(::read(ends[0], &ready, 1), 1);
        ::close(ends[0]);
    }
    ~WritingChild() { kill(); }
    WritingChild(WritingChild const&) = delete;
    WritingChild& operator=(WritingChild const&) = delete;

    void kill() {
        if (pid_ == 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    pid_t pid() const { return pid_; }

  private:
    static void write_until_killed(std::string const& path, int ready) {
        auto options = small_shared_options();
        options.commit.flush_interval_ns = 20'000'000;
        auto const writer = Writer::create(path, events(), options);
        auto first = writer->producer("events");
        append_events(first, 0, 0, 7);
        first.staging().named_counter("lost_triggers") = 2;
        first.finish();
        auto second = writer->producer("events");
        append_events(second, 1, 0, 13);
        second.staging().named_counter("lost_triggers") = 3;
        while (writer->status().ended[0].producers == 0) base::sleep_ns(1'000'000);
        if (::write(ready, "r", 1) != 1) ::_exit(1);
        while (true) base::sleep_ns(kSecond);
    }

    pid_t pid_ = 0;
};

TEST(RunStatusOf, AnotherProcessIsSeenUntilItIsKilledAndTheRunRecovered) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    WritingChild child(path);
    auto const reader = Reader::open(path);
    auto const writing = only_node(*reader);
    EXPECT_EQ(writing.writers.state, WriterState::alive);
    EXPECT_EQ(writing.committer, child.pid());
    EXPECT_EQ(writing.host, base::host_name());
    ASSERT_TRUE(writing.figures);
    ASSERT_EQ(writing.figures->producers.size(), 1u);
    auto const& producer = writing.figures->producers[0];
    EXPECT_TRUE(producer.is_alive);
    EXPECT_EQ(producer.status.process.pid, child.pid());
    EXPECT_EQ(producer.status.state, SlotState::active);
    EXPECT_EQ(producer.status.rows, 13u);
    EXPECT_EQ(producer.status.named.at("lost_triggers"), 3u);
    EXPECT_EQ(writing.figures->ended.at(0).producers, 1u);
    EXPECT_EQ(writing.figures->ended.at(0).rows, 7u);
    EXPECT_EQ(writing.figures->ended.at(0).named.at("lost_triggers"), 2u);
    EXPECT_GT(writing.figures->claimed_bytes, 0u);
    EXPECT_EQ(writing.figures->failure, "");

    child.kill();
    auto const left = only_node(*reader);
    EXPECT_EQ(left.writers.state, WriterState::ended);
    EXPECT_EQ(left.committer, 0);
    ASSERT_TRUE(left.figures);
    ASSERT_EQ(left.figures->producers.size(), 1u);
    EXPECT_FALSE(left.figures->producers[0].is_alive);
    EXPECT_EQ(rows_of(*left.figures), 20u);

    EXPECT_EQ(recover(path).report.tables[0].rows, 20u);
    EXPECT_TRUE(status_of(*reader).is_closed);
    EXPECT_TRUE(status_of(*Reader::open(path)).is_closed);
}

// A lag that nothing resets grows without bound: so it is asked for until it is smaller than the time of the test.
TEST(RunStatusOf, TheDurableLagIsThatOfTheWriter) {
    Directory const directory;
    auto options = small_shared_options();
    options.commit.flush_interval_ns = 10'000'000;
    auto const begin = base::monotonic_ns();
    auto const writer = Writer::create(directory.file("run.h5"), events(), options);
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, 5);
    auto const reader = Reader::open(writer->path());
    auto const appended = base::monotonic_ns();
    for (bool is_durable = false; !is_durable;) {
        base::sleep_ns(1'000'000);
        auto const before = writer->status().durable_lag_ns, asked = base::monotonic_ns();
        auto const node = only_node(*reader);
        ASSERT_TRUE(node.figures);
        auto const lag_ns = node.figures->durable_lag_ns;
        EXPECT_LE(lag_ns, before + (base::monotonic_ns() - asked) + kSecond / 1000);
        is_durable = base::monotonic_ns() - lag_ns > appended;
        ASSERT_LT(base::monotonic_ns() - begin, 60 * kSecond);
    }
    producer.finish();
    writer->close(kTimeoutNs);
}

TEST(RunStatusOf, ProducersThatComeAndGoAreCountedOnce) {
    Directory const directory;
    auto const writer = Writer::create(directory.file("run.h5"), events(), small_shared_options());
    auto const reader = Reader::open(writer->path());
    std::atomic<std::uint64_t> appended = 0;
    std::atomic<bool> is_over = false;
    std::jthread const producers([&] {
        for (int i = 0; i < 400; ++i) {
            auto producer = writer->producer("events");
            append_events(producer, 0, 0, 3);
            appended += 3;
            producer.finish();
        }
        is_over = true;
    });
    for (std::uint64_t last = 0; !is_over;) {
        auto const before = appended.load();
        auto const node = only_node(*reader);
        ASSERT_TRUE(node.figures);
        auto const rows = rows_of(*node.figures);
        ASSERT_GE(rows, std::max(last, before));
        ASSERT_LE(rows, appended + 3);
        last = rows;
    }
}

class StatusOfMine : public ::testing::Test {
  protected:
    StatusOfMine()
        : writer_(Writer::create(directory_.file("run.h5"), events(), small_shared_options())),
          reader_(Reader::open(writer_->path())), ledger_(Ledger::attach(writer_->handle())) {}
    ~StatusOfMine() override { writer_->abandon(); }

    std::string problem() const {
        return message_of([&] { static_cast<void>(status_of(*reader_)); });
    }
    std::string memory_name() const { return writer_->handle() + "-board"; }

    Directory directory_;
    std::unique_ptr<Writer> writer_;
    std::unique_ptr<Reader> reader_;
    std::unique_ptr<Ledger> ledger_;
};

TEST_F(StatusOfMine, FiguresOfAnotherVersionAreNotRead) {
    auto const memory = base::SharedMemory::attach(memory_name());
    auto& version = *reinterpret_cast<std::uint32_t*>(memory.data() + sizeof BoardHead::magic);
    ++version;
    EXPECT_NE(problem().find("another version of Thalweg: 2, and this one's is 1"), std::string::npos) << problem();
    --version;
    EXPECT_EQ(problem(), "");
}

TEST_F(StatusOfMine, SoItIsWithALedgerOfAnotherVersion) {
    ++ledger_->head().version;
    EXPECT_NE(problem().find("another version of Thalweg"), std::string::npos) << problem();
    --ledger_->head().version;
}

TEST_F(StatusOfMine, ACommitterThatStandsInTheMidstOfAChangeIsNoAnswer) {
    auto const board = StatusBoard::attach(*ledger_);
    ASSERT_TRUE(board);
    board->begin_change();
    EXPECT_NE(problem().find("ask again"), std::string::npos) << problem();
    board->end_change();
    EXPECT_EQ(problem(), "");
}

TEST_F(StatusOfMine, WithoutItsMemoryItIsKnownThatAProcessHoldsIt) {
    remove_memory(reader_->head().id, {});
    auto const node = only_node(*reader_);
    EXPECT_EQ(node.writers.state, WriterState::unknown);
    EXPECT_FALSE(node.figures);
    writer_->abandon();
    writer_.reset();
    auto const left = only_node(*reader_);
    EXPECT_EQ(left.writers.state, WriterState::ended);
    EXPECT_FALSE(left.figures);
    writer_ = Writer::create(directory_.file("other.h5"), events(), small_shared_options());
}

TEST_F(StatusOfMine, ARunWhoseJournalIsAboutToGoIsBeingClosed) {
    for (auto const state : {LedgerState::closing, LedgerState::closed}) {
        ledger_->head().state = state;
        auto const node = only_node(*reader_);
        EXPECT_EQ(node.writers.state, WriterState::alive);
        EXPECT_TRUE(node.is_closing);
    }
    ledger_->head().state = LedgerState::open;
    EXPECT_FALSE(only_node(*reader_).is_closing);
}

TEST_F(StatusOfMine, WhyItTakesNoMoreRowsIsSaid) {
    ledger_->fail("run.h5 takes no more rows (its disk is gone)");
    auto const node = only_node(*reader_);
    EXPECT_EQ(node.writers.state, WriterState::ended);
    ASSERT_TRUE(node.figures);
    EXPECT_EQ(node.figures->failure, "run.h5 takes no more rows (its disk is gone)");
}

TEST_F(StatusOfMine, AnotherRunAtItsPathIsAnError) {
    auto const other = Writer::create(directory_.file("other.h5"), events(), small_shared_options());
    for (auto const* const end : {"", ".journal"}) std::filesystem::rename(other->path() + end, writer_->path() + end);
    EXPECT_NE(problem().find("is another run now"), std::string::npos) << problem();
    other->abandon();
}

} // namespace
} // namespace thalweg::dataset
