// What a table keeps of a producer with a gap, which costs the rest of a block: never what was durable.
#include <gtest/gtest.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/begin/resumption.h"
#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/journal/coverage.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

// A journal of one producer of one column, and its file.
class Recording {
  public:
    Recording() {
        journal_.append(RecordType::producer, ProducerRecord{0, 0, 1, 0});
        file_->resize(base::kMiB);
    }
    std::uint64_t block_rows() const { return head_.layouts[0].block_rows; }

    void add_rows(std::uint64_t first, std::uint64_t count) {
        std::vector<std::uint64_t> const items(count, first);
        journal_.append(RecordType::rows, RowsRecord{0, 0, first, count}, std::as_bytes(std::span(items)));
    }
    void add_block(std::uint64_t number, bool is_written = true) {
        std::vector<std::uint64_t> const items(block_rows(), number);
        auto const bytes = std::as_bytes(std::span(items));
        auto const offset = (number + 1) * 64 * base::kKiB;
        if (is_written) file_->write(offset, bytes);
        PageRecord page{};
        page.first = number * block_rows();
        page.count = static_cast<std::uint32_t>(block_rows());
        page.offset = offset;
        page.stored_bytes = bytes.size();
        page.checksum = base::xxh3(bytes);
        journal_.append(RecordType::pages, page);
    }
    void damage_block(std::uint64_t number) {
        file_->write((number + 1) * 64 * base::kKiB, std::vector<std::byte>(1, std::byte{77}));
    }
    void died(std::uint64_t published) { journal_.append(RecordType::finish, FinishRecord{0, 1, published}); }
    void barrier() { journal_.append(RecordType::barrier, BarrierRecord{journal_.size_bytes()}); }
    std::uint64_t journal_end() { return journal_.size_bytes(); }
    void lose_journal(std::uint64_t begin, std::uint64_t end) {
        storage_->write(begin, std::vector<std::byte>(end - begin, std::byte{0}));
    }
    void resume() { journal_what_is_left(gathered(), {}, journal_); }

    Gathered gathered(RunState state = RunState::ended) const { return gather(storage_, *file_, state); }
    Ranges rows(RunState state = RunState::ended) const { return gathered(state).facts.tables[0][0].rows; }
    std::uint64_t lost_rows() const { return gathered().report.tables[0].lost_rows; }

  private:
    model::RunHead const head_ =
        model::make_run_head({{{"events", {scalar("id", model::Scalar::uint64)}, ""}}},
                             {.wide_page_bytes = 1 << 10, .narrow_page_bytes = 1 << 10, .block_bytes = 1 << 10}, {});
    std::shared_ptr<storage::Storage> const file_ = storage::make_memory_storage("run.h5");
    std::shared_ptr<storage::Storage> const storage_ = storage::make_memory_storage("run.h5.journal");
    JournalWriter journal_ = JournalWriter::begin(storage_, model::to_json(head_));
};

TEST(Gaps, RowsThatWereDurableStayWhateverAPowerCutLeftBehindThem) {
    Recording run;
    auto const block = run.block_rows();
    run.add_rows(0, block + 11);
    run.barrier();
    run.add_block(3); // what should stand in front of it did not reach the disk
    run.add_block(4);
    EXPECT_EQ(run.rows(), (Ranges{{0, block + 11}}));
    EXPECT_EQ(run.lost_rows(), 4 * block - 11);
}

TEST(Gaps, WhereNothingOfTheBlockWasDurableTheFewestRowsGo) {
    Recording run;
    auto const block = run.block_rows();
    run.add_rows(0, block);
    run.barrier();
    run.add_rows(block, 11);
    run.add_block(3);
    EXPECT_EQ(run.rows(), (Ranges{{0, block}, {3 * block, block}}));
}

// The simulator's seed 809501409384 (h5): the second extent of a long append was written before the first one.
TEST(Gaps, OfAnOpenRunNothingIsShownBehindWhatMayStillCome) {
    Recording run;
    auto const block = run.block_rows();
    run.add_block(2);
    EXPECT_EQ(run.rows(RunState::open), Ranges{});
    run.add_rows(0, block + 11);
    run.barrier();
    EXPECT_EQ(run.rows(RunState::open), (Ranges{{0, block + 11}}));
    EXPECT_EQ(run.gathered(RunState::open).report.tables[0].lost_rows, 0u);
    run.add_block(1);
    EXPECT_EQ(run.rows(RunState::open), (Ranges{{0, 3 * block}}));
}

TEST(Gaps, OfAnOpenRunThatIsDamagedTheRestIsShown) {
    Recording run;
    auto const block = run.block_rows();
    run.add_block(0);
    run.add_block(2);
    run.add_block(1000, false); // lies beyond the end of the file
    EXPECT_EQ(run.rows(RunState::open), (Ranges{{0, block}, {2 * block, block}}));
}

TEST(Gaps, ADamageToWhatWasDurableCostsTheFewestRows) {
    Recording run;
    auto const block = run.block_rows();
    run.add_rows(0, block + 11);
    run.add_block(2); // the rest of block 1 is gone, as by a damaged record
    run.add_block(3);
    run.add_block(4);
    run.barrier();
    run.damage_block(4);
    EXPECT_EQ(run.rows(), (Ranges{{0, block + 11}})); // a BARRIER is believed, and nothing else seems to be missing
    run.add_block(1000, false);                       // lies beyond the end of the file
    run.barrier();
    EXPECT_EQ(run.rows(), (Ranges{{0, block}, {2 * block, 3 * block}}));
}

// The kernel may write what stands behind the bytes that it cannot write, the BARRIER with it: its sync fails.
TEST(Gaps, ASyncOfTheJournalThatFailsCostsNothingThatWasDurable) {
    Recording run;
    auto const block = run.block_rows();
    run.add_rows(0, block + 11);
    run.barrier();
    auto const begin = run.journal_end();
    run.add_rows(block + 11, 2 * block - 11);
    auto const end = run.journal_end();
    run.add_block(3);
    run.barrier();
    run.lose_journal(begin, end);
    EXPECT_EQ(run.rows(), (Ranges{{0, block + 11}}));
    EXPECT_EQ(run.lost_rows(), 3 * block - 11);
    run.barrier(); // so the sync had not failed: the disk has lost something since
    EXPECT_EQ(run.rows(), (Ranges{{0, block}, {3 * block, block}}));
}

TEST(Gaps, WhatARunKeepsWhenItIsResumedItKeepsLater) {
    Recording run;
    auto const block = run.block_rows();
    run.add_rows(0, block);
    run.barrier();
    run.add_rows(block, 11); // these are there, and were not durable
    run.add_block(3);
    auto const kept = run.rows();
    run.resume();
    run.barrier(); // now they are
    EXPECT_EQ(run.rows(), kept);
    run.resume();
    run.barrier();
    EXPECT_EQ(run.rows(), kept);
}

// A page that was damaged when the run was resumed says nothing of what is durable since.
TEST(Gaps, ADamageFromBeforeTheRunWasResumedCountsNoMore) {
    Recording run;
    auto const block = run.block_rows();
    run.add_rows(0, block + 11);
    run.barrier();
    run.add_block(2);
    run.damage_block(2);
    run.add_block(3);
    EXPECT_EQ(run.rows(), (Ranges{{0, block + 11}}));
    run.resume();
    run.barrier();
    EXPECT_EQ(run.rows(), (Ranges{{0, block + 11}}));
}

// The pages of one batch are written at once, and announced in the order in which their writes end.
TEST(Gaps, OfABatchThatAKillInterruptedOnlyItsBeginningStays) {
    Recording run;
    auto const block = run.block_rows();
    run.add_block(0);
    run.add_block(1);
    run.add_block(3);
    run.died(block);
    EXPECT_EQ(run.rows(), (Ranges{{0, 2 * block}}));
}

// The simulator's seed 1050025714492 (h5, several nodes).
TEST(Gaps, TheBeginningOfAnInterruptedBatchMayEndWithinABlock) {
    Recording run;
    auto const block = run.block_rows();
    run.add_block(0);
    run.add_rows(block, 1);
    run.add_rows(block + 2, block - 2); // so the block lacks one row, and the fewest rows go if its first one does
    run.add_block(2);
    run.died(block);
    EXPECT_EQ(run.rows(), (Ranges{{0, block + 1}}));
    run.barrier(); // now all of it is durable
    EXPECT_EQ(run.rows(), (Ranges{{0, block + 1}}));
}

TEST(Gaps, AmongPublishedRowsOfAKilledProducerNoneIsLeftOut) {
    Recording run;
    auto const block = run.block_rows();
    run.add_block(0);
    run.add_block(2); // a power cut took what stood in front of it
    run.died(3 * block);
    EXPECT_EQ(run.rows(), (Ranges{{0, block}, {2 * block, block}}));
}

} // namespace
} // namespace thalweg::dataset
