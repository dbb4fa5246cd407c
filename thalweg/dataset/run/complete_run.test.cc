// A run that is complete needs nothing that lies beside its file, and keeps none of it.
#include <fmt/format.h>
#include <fstream>
#include <thread>

#include "thalweg/base/units.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

CreateOptions shared_options() {
    auto options = small_run_options();
    options.shared = true;
    options.layout.wide_codec = options.layout.narrow_codec = "lz4"; // which both containers know
    return options;
}

RowCounts rows_in(std::string const& path) {
    return expect_right(*storage::open_file_storage(path, storage::OpenMode::read_only));
}

// A run that is complete, and whose journal is still there, without later segments.
std::uint64_t leave_complete(std::string const& path, std::string const& other) {
    auto options = shared_options();
    options.commit.flush_interval_ns = 1'000'000;
    options.layout.cluster_bytes = 64 << 20; // so that rows stay in the journal
    options.layout.block_bytes = options.write.staging.page_ring_bytes = 1 << 20;
    auto const writer = Writer::create(other, events(), options);
    auto producer = writer->producer("events");
    std::uint64_t rows = 0;
    while (segments_beside(journal_path(other))->list().empty()) {
        append_events(producer, 0, rows, 10);
        rows += 10;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    producer.finish();
    std::filesystem::rename(other, path);
    std::filesystem::create_hard_link(journal_path(other), journal_path(path)); // which `close` does not remove
    EXPECT_EQ(message_of([&] { writer->close(kTimeoutNs); }), "");
    EXPECT_FALSE(std::filesystem::exists(journal_path(other)));
    EXPECT_EQ(rows_in(path)[0], rows);
    return rows;
}

class CompleteRun : public ::testing::TestWithParam<char const*> {};

TEST_P(CompleteRun, NeedsNoSegmentsOfItsJournal) {
    Directory const directory;
    auto const path = directory.file(GetParam());
    auto const rows = leave_complete(path, directory.file(std::string("other-") + GetParam()));
    auto const report = recover(path).report;
    EXPECT_EQ(rows_in(path)[0], rows);
    EXPECT_EQ(report.tables[0].rows, rows);
    EXPECT_EQ(report.tables[0].lost_rows, 0u);
    EXPECT_EQ(report.notes, std::vector<std::string>{});
}

TEST_P(CompleteRun, OfWhichThisIsACopyNeedsNoneEither) {
    Directory const directory, copies;
    auto const path = directory.file(GetParam()), copy = copies.file(GetParam());
    auto const rows = leave_complete(path, directory.file(std::string("other-") + GetParam()));
    std::filesystem::copy_file(path, copy);
    std::filesystem::copy_file(journal_path(path), journal_path(copy));
    auto const report = recover(copy).report;
    EXPECT_EQ(rows_in(copy)[0], rows);
    EXPECT_EQ(report.tables[0].rows, rows);
    EXPECT_EQ(report.tables[0].lost_rows, 0u);
}

// A power cut can bring back a segment that was removed behind its journal (seen on btrfs).
TEST_P(CompleteRun, IsLeftWithoutSegmentsByRecover) {
    Directory const directory;
    auto const path = directory.file(GetParam()), segment = journal_path(path) + ".1";
    leave_complete(path, directory.file(std::string("other-") + GetParam()));
    recover(path);
    std::filesystem::copy_file(path, segment);
    auto const content = bytes_of(path);
    auto const said = message_of([&] { recover(path); });
    EXPECT_NE(said.find("there is nothing to recover"), std::string::npos) << said;
    EXPECT_FALSE(std::filesystem::exists(segment));
    EXPECT_EQ(bytes_of(path), content);
}

TEST_P(CompleteRun, IsNoFileThatIsOpenOrOfAnotherProgram) {
    Directory const directory;
    auto const path = directory.file(GetParam()), segment = journal_path(path) + ".1";
    auto const writer = Writer::create(path, events(), shared_options());
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, 10);
    writer->abandon();
    std::filesystem::rename(journal_path(path), segment); // a user moves the journal, piece by piece
    EXPECT_NE(message_of([&] { recover(path); }).find("the file is not complete"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(segment));
    std::ofstream(path, std::ios::trunc) << "of another program";
    EXPECT_NE(message_of([&] { recover(path); }), "");
    EXPECT_TRUE(std::filesystem::exists(segment));
}

INSTANTIATE_TEST_SUITE_P(All, CompleteRun, ::testing::Values("run.h5", "run.root"),
                         [](auto const& each) { return std::string(each.param).substr(4); });

} // namespace
} // namespace thalweg::dataset
