#include "thalweg/dataset/run/status_board.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

class Board : public ::testing::Test {
  protected:
    Board() : ledger_(Ledger::create(model::make_run_head(pulses(1), {}, {}).id, "/nowhere/run.h5", true, 0)) {}
    ~Board() override {
        base::SharedMemory::unlink(ledger_->name() + "-board");
        base::SharedMemory::unlink(ledger_->name());
    }

    std::unique_ptr<Ledger> ledger_;
};

EndedProducers ended_with(std::size_t names) {
    EndedProducers ended{4, 1, 2, 1000, {1, 2, 3, 4, 5, 6}, {}};
    for (std::size_t i = 0; i < names; ++i) ended.named[fmt::format("counter_{:02}", i)] = 10 * i;
    return ended;
}

TEST_F(Board, AnotherProcessReadsWhatTheCommitterHasSet) {
    EXPECT_FALSE(StatusBoard::attach(*ledger_));
    auto const mine = StatusBoard::create(*ledger_, 3);
    auto const theirs = StatusBoard::attach(*ledger_);
    ASSERT_TRUE(theirs);
    EXPECT_EQ(theirs->tables(), 3u);
    mine.figures().durable_ns = 17;
    EXPECT_EQ(theirs->figures().durable_ns, 17u);
    auto const set = ended_with(5);
    mine.set_sums(1, set);
    mine.set_sums(1, set); // sums take the place of earlier ones
    auto const read = theirs->read_sums(1);
    EXPECT_EQ(std::tie(read.producers, read.died, read.abandoned, read.rows),
              std::tie(set.producers, set.died, set.abandoned, set.rows));
    EXPECT_EQ(read.counts, set.counts);
    EXPECT_EQ(read.named, set.named);
    EXPECT_EQ(theirs->read_sums(0).producers, 0u);
}

TEST_F(Board, CountersWithoutRoomAreCounted) {
    auto const board = StatusBoard::create(*ledger_, 1);
    board.set_sums(0, ended_with(kNamedCounters + 3));
    EXPECT_EQ(board.read_sums(0).named.size(), kNamedCounters);
    EXPECT_EQ(board.sums(0).names_without_room, 3u);
}

TEST_F(Board, ABoardThatIsTooSmallForItsTablesIsDamaged) {
    auto const board = StatusBoard::create(*ledger_, 1);
    auto const memory = base::SharedMemory::attach(ledger_->name() + "-board");
    reinterpret_cast<BoardHead*>(memory.data())->tables = 1'000'000;
    EXPECT_NE(message_of([&] { StatusBoard::attach(*ledger_); }).find("damaged"), std::string::npos);
}

} // namespace
} // namespace thalweg::dataset
