// What is read of a journal as it was at one moment, while it grows.
#include "thalweg/dataset/journal/journal_moment.h"

#include <gtest/gtest.h>
#include <vector>

#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/journal/test_segments.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

// The rows of each producer are of 8 bytes, and all of them lie in segments of about ten rows each.
class GrowingJournal {
  public:
    void append_rows(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            journal_.append(RecordType::rows, RowsRecord{0, 1, rows_, 1}, std::as_bytes(std::span(&rows_, 1)));
            journal_.append_json(RecordType::metadata, "{}"); // so that the row is written
            ++rows_;
        }
    }
    JournalMoment moment() { return journal_.moment(); }
    JournalFiles const& files() const { return files_; }

    static std::uint64_t rows_in(JournalFiles const& files) {
        std::uint64_t rows = 0;
        auto const damage = read_journal(files, [&](JournalRecord const& record) {
            if (record.type == RecordType::rows) ++rows;
            return true;
        });
        EXPECT_EQ(damage.reason, "");
        return rows;
    }

  private:
    JournalFiles files_{storage::make_memory_storage("run.h5.journal"), std::make_shared<MemorySegments>()};
    JournalWriter journal_ = JournalWriter::begin(files_, model::to_json(model::make_run_head(pulses(4), {}, {})), {},
                                                  {.main_rows_bytes = 0, .segment_bytes = kHeadOffset + 512});
    std::uint64_t rows_ = 0;
};

TEST(JournalMoment, HasNothingThatCameLater) {
    GrowingJournal journal;
    EXPECT_EQ(GrowingJournal::rows_in(journal_at(journal.files(), journal.moment())), 0u);
    journal.append_rows(3);
    auto const within_a_segment = journal.moment();
    journal.append_rows(30);
    ASSERT_GT(journal.files().segments->list().size(), 2u);
    auto const later = journal.moment();
    journal.append_rows(30);
    EXPECT_EQ(GrowingJournal::rows_in(journal_at(journal.files(), within_a_segment)), 3u);
    EXPECT_EQ(GrowingJournal::rows_in(journal_at(journal.files(), later)), 33u);
    EXPECT_EQ(GrowingJournal::rows_in(journal.files()), 63u);
}

// While no flush makes them durable, rows are gathered: a moment has those, too.
TEST(JournalMoment, HasAllThatCameBefore) {
    JournalFiles const files(storage::make_memory_storage("run.h5.journal"), std::make_shared<MemorySegments>());
    auto journal = JournalWriter::begin(files, model::to_json(model::make_run_head(pulses(4), {}, {})), {},
                                        {.main_rows_bytes = 0});
    std::uint64_t const ids[3] = {7, 8, 9};
    journal.append(RecordType::rows, RowsRecord{0, 1, 0, 3}, std::as_bytes(std::span(ids)));
    EXPECT_EQ(GrowingJournal::rows_in(journal_at(files, journal.moment())), 1u) << "one record of three rows";
}

TEST(JournalMoment, IsNotWritten) {
    GrowingJournal journal;
    auto const files = journal_at(journal.files(), journal.moment());
    EXPECT_NE(message_of([&] { files.segments->create(7); }).find("can be read only"), std::string::npos);
    EXPECT_NE(message_of([&] { files.segments->remove(1); }).find("can be read only"), std::string::npos);
}

} // namespace
} // namespace thalweg::dataset
