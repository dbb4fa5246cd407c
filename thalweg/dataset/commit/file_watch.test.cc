#include "thalweg/dataset/commit/file_watch.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <thread>

#include "thalweg/base/clock.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/test_bad_day.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

class FileWatchOf : public ::testing::TestWithParam<char const*> {
  protected:
    FileWatchOf() : path_(directory_.file(GetParam())), writer_(Writer::create(path_, events(), {})) {
        auto producer = writer_->producer("events");
        append_events(producer, 0, 0, 500);
        producer.finish();
    }

    // As the message says.
    std::string copy_of_descriptor(std::string const& message) const {
        std::smatch found;
        auto const copy = directory_.file("copy" + std::filesystem::path(path_).extension().string());
        if (!std::regex_search(message, found, std::regex("cp (/proc/[0-9]+/fd/[0-9]+)"))) return "";
        std::filesystem::copy_file(std::filesystem::path(found[1].str()), copy);
        return copy;
    }

    Directory directory_;
    std::string path_;
    std::unique_ptr<Writer> writer_;
};

TEST_P(FileWatchOf, ARemovedFileIsNoticedAndCloseFailsAndTheDataCanBeHad) {
    EXPECT_EQ(writer_->file_problem(), "");
    std::filesystem::remove(path_);
    EXPECT_NE(writer_->file_problem().find("was removed while it is being written"), std::string::npos);
    auto const said = message_of([&] { writer_->close(kTimeoutNs); });
    EXPECT_NE(said.find("was removed while it is being written"), std::string::npos) << said;
    auto const copy = copy_of_descriptor(said);
    ASSERT_NE(copy, "");
    EXPECT_EQ(Reader::open(copy)->rows(0), 500u);
    EXPECT_FALSE(Reader::open(copy)->is_open_run());
}

// It is said without a question for the status.
TEST_P(FileWatchOf, ARemovedFileIsSaidOnceByTheCommitter) {
    ::testing::internal::CaptureStderr();
    std::filesystem::remove(path_);
    auto const end_ns = base::monotonic_ns() + kTimeoutNs;
    std::string said;
    while (said.empty() && base::monotonic_ns() < end_ns) {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        said = ::testing::internal::GetCapturedStderr();
        ::testing::internal::CaptureStderr();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(said, "thalweg: " + writer_->file_problem() + "\n");
}

TEST_P(FileWatchOf, AFileInItsPlaceIsNotIt) {
    std::filesystem::remove(path_);
    std::ofstream(path_) << "another program's";
    EXPECT_NE(writer_->file_problem().find("another file has taken its place"), std::string::npos);
    EXPECT_NE(message_of([&] { writer_->close(kTimeoutNs); }).find("another file"), std::string::npos);
}

TEST_P(FileWatchOf, AMovedFileIsNoticedAndMayBePutBack) {
    auto const elsewhere = directory_.file("elsewhere");
    std::filesystem::rename(path_, elsewhere);
    EXPECT_NE(writer_->file_problem().find("was moved while it is being written"), std::string::npos);
    std::filesystem::rename(elsewhere, path_);
    EXPECT_EQ(writer_->file_problem(), "");
    EXPECT_EQ(writer_->close(kTimeoutNs).report.tables[0].rows, 500u);
}

std::vector<std::string> names_in(std::string const& folder) {
    std::vector<std::string> names;
    for (auto const& each : std::filesystem::directory_iterator(folder)) names.push_back(each.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

TEST_P(FileWatchOf, AMovedFileIsCompleteWhereItIs) {
    auto const elsewhere = directory_.file("elsewhere" + std::filesystem::path(path_).extension().string());
    std::filesystem::rename(path_, elsewhere);
    auto const result = writer_->close(kTimeoutNs);
    EXPECT_EQ(result.path, elsewhere);
    ASSERT_EQ(result.report.notes.size(), 1u);
    EXPECT_NE(result.report.notes[0].find("is complete as " + elsewhere), std::string::npos);
    EXPECT_FALSE(Reader::open(elsewhere)->is_open_run());
    EXPECT_EQ(Reader::open(elsewhere)->rows(0), 500u);
    EXPECT_FALSE(std::filesystem::exists(journal_path(path_)));
}

// Rows of slow streams are in segments of the journal, which are created while the run goes on.
TEST_P(FileWatchOf, ARunGoesOnInAFolderThatIsRenamed) {
    auto const before = directory_.file("before"), after = directory_.file("after");
    std::filesystem::create_directory(before);
    auto options = small_run_options();
    options.layout.wide_codec = options.layout.narrow_codec = "lz4"; // which both containers know
    auto const writer = Writer::create(before + "/" + GetParam(), events(), options);
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, 20);
    std::filesystem::rename(before, after);
    std::filesystem::create_directory(before); // which is of another user of that name
    std::set<std::string> seen;
    for (std::uint64_t row = 20; row < 2000; row += 20) {
        append_events(producer, 0, row, 20);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        for (auto const& name : names_in(after)) seen.insert(name);
    }
    EXPECT_EQ(writer->status().failure, "");
    EXPECT_GT(seen.size(), 3u) << "segments were created";
    producer.finish();
    EXPECT_EQ(writer->close(kTimeoutNs).report.tables[0].rows, 2000u);
    EXPECT_EQ(names_in(after), std::vector<std::string>{GetParam()});
    EXPECT_EQ(names_in(before), std::vector<std::string>{});
    EXPECT_EQ(Reader::open(after + "/" + GetParam())->rows(0), 2000u);
}

// Its folder has become a link that leads nowhere: no answer is no reason to end a run, and a close needs one.
TEST_P(FileWatchOf, ARunWhoseFileCannotBeLookedForGoesOnUntilItsClose) {
    auto const folder = directory_.file("folder"), elsewhere = directory_.file("elsewhere");
    std::filesystem::create_directory(folder);
    auto const writer = Writer::create(folder + "/" + GetParam(), events(), {});
    ::testing::internal::CaptureStderr();
    std::filesystem::rename(folder, elsewhere);
    std::filesystem::create_symlink(folder, folder);
    std::this_thread::sleep_for(std::chrono::milliseconds(2000));
    auto const said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("cannot see whether"), std::string::npos) << said;
    EXPECT_TRUE(said.ends_with(": the run goes on, and looks again\n")) << said;
    auto const failure = message_of([&] { writer->close(kTimeoutNs); });
    EXPECT_NE(failure.find("cannot see whether"), std::string::npos) << failure;
    EXPECT_EQ(failure.find("goes on"), std::string::npos) << failure;
}

TEST_P(FileWatchOf, ARunCopiedWhileItIsOpenCanBeRecovered) {
    std::filesystem::remove(path_);
    auto const said = writer_->file_problem();
    writer_->abandon();
    std::smatch found;
    ASSERT_TRUE(std::regex_search(said, found, std::regex("and, unless.*`cp (/proc/[0-9]+/fd/[0-9]+)"))) << said;
    auto const copy = copy_of_descriptor(said);
    std::filesystem::copy_file(std::filesystem::path(found[1].str()), journal_path(copy));
    EXPECT_EQ(recover(copy).report.tables[0].rows, 500u);
}

INSTANTIATE_TEST_SUITE_P(Containers, FileWatchOf, ::testing::Values("run.h5", "run.root"));

} // namespace
} // namespace thalweg::dataset
