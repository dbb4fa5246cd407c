// What a node has finished is compared with what another machine sees of it, before the file is completed.
#include "thalweg/dataset/complete/missing_part.h"

#include "thalweg/dataset/node_folder/sign_of_life.h"
#include "thalweg/dataset/test_nodes.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kShortNs = 3'000'000'000; // for one node to wait for another

class FinishedParts : public Nodes {
  protected:
    // As a machine sees the journal that keeps its size for a while: all behind it is missing.
    class StaleJournal {
      public:
        StaleJournal(std::string path, std::uint64_t bytes) : path_(std::move(path)), bytes_(bytes) {
            auto const file = storage::open_file_storage(path_, storage::OpenMode::read_write);
            rest_.resize(file->size() - bytes_);
            file->read(bytes_, rest_);
            file->resize(bytes_);
        }
        void becomes_known() const {
            storage::open_file_storage(path_, storage::OpenMode::read_write)->write(bytes_, rest_);
        }

      private:
        std::string path_;
        std::uint64_t bytes_;
        std::vector<std::byte> rest_;
    };

    Writers two_nodes() const { return begin(path_, options_for(2, kShortNs)); }

    // Node 2 finishes, and waits for node 1.
    std::future<std::string> finish_second(Writers const& writers) const {
        auto closing =
            std::async(std::launch::async, [&] { return message_of([&] { writers[1]->close(kTimeoutNs); }); });
        while (!parts_.announced(finished_name(1))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return closing;
    }

    FinishedPart finished() const { return FinishedPart::from(parts_.announced(finished_name(1)).value()).value(); }
};

INSTANTIATE_TEST_SUITE_P(Containers, FinishedParts, ::testing::Values("run.h5", "run.root"),
                         [](auto const& each) { return std::string(each.param).substr(4); });

TEST_P(FinishedParts, ThatAreSeenLaterAreWaitedFor) {
    auto writers = two_nodes();
    append_on_all(writers);
    auto second = finish_second(writers);
    auto const start = RunPlace(path_, {1, 2}).open_journal(storage::OpenMode::read_only).required_start();
    StaleJournal const journal(parts_.journal(1), start->preamble.records + 400);
    auto first = std::async(std::launch::async, [&] { return message_of([&] { writers[0]->close(kTimeoutNs); }); });
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_TRUE(exists(parts_.journal(1)));
    journal.becomes_known();
    EXPECT_EQ(first.get(), "");
    EXPECT_EQ(second.get(), "");
    EXPECT_EQ(rows_in(path_), all_rows(2));
    EXPECT_FALSE(exists(parts_.path()));
}

TEST_P(FinishedParts, ThatAreNeverSeenEndTheRunAndNothingIsRemoved) {
    auto writers = two_nodes();
    append_on_all(writers);
    auto second = finish_second(writers);
    StaleJournal const journal(parts_.journal(1), finished().journal_bytes - 8);
    auto const said = message_of([&] { writers[0]->close(kTimeoutNs); });
    EXPECT_NE(said.find("node 2 has finished a journal of"), std::string::npos) << said;
    EXPECT_NE(said.find("nothing was removed"), std::string::npos) << said;
    EXPECT_NE(second.get(), "");
    writers.clear();
    journal.becomes_known();
    EXPECT_FALSE(recover(path_).report.rows_may_be_missing);
    EXPECT_EQ(rows_in(path_), all_rows(2));
}

// Another machine may recover it, and see less of a journal, too.
TEST_P(FinishedParts, ThatARecoveryDoesNotSeeAreNamed) {
    auto writers = two_nodes();
    append_on_all(writers);
    auto second = finish_second(writers);
    StaleJournal const journal(parts_.journal(1), finished().journal_bytes - 8);
    writers[0]->abandon();
    second.get();
    writers.clear();
    auto const report = recover(path_).report;
    EXPECT_TRUE(report.rows_may_be_missing);
    auto const notes = fmt::format("{}", fmt::join(report.notes, "; "));
    EXPECT_NE(notes.find("node 2 has finished a journal of"), std::string::npos) << notes;
}

TEST(MissingPart, ARegionBelongsToOneNode) {
    Directory const directory;
    PartsFolder const parts(directory.file("run.h5"));
    Gathered gathered;
    gathered.regions = {{3, 0, true, 0}, {4, 0, true, 1}};
    EXPECT_TRUE(missing_parts(parts, 2, gathered).empty());
    gathered.regions.push_back({3, 0, false, 1});
    auto const missing = missing_parts(parts, 2, gathered);
    ASSERT_EQ(missing.size(), 1u);
    EXPECT_NE(missing[0].find("node 1 and node 2 both took region 3"), std::string::npos);
}

TEST(FinishedPart, IsReadAsItWasSaid) {
    FinishedPart const part{1234, {5, 6, 7, 8}};
    EXPECT_EQ(FinishedPart::from(part.text()), part);
    for (auto const* const text : {"", "all of it is in its journal", "{}", R"({"journal_bytes":-1})"})
        EXPECT_EQ(FinishedPart::from(text), std::nullopt);
}

// A machine that cannot look at another node knows nothing about it, and does not call it silent.
TEST(SignOfLife, ALookThatFailsSaysNothing) {
    Directory const directory;
    storage::open_file_storage(directory.file("file"), storage::OpenMode::create_new);
    SignOfLife unseen(directory.file("file/beats")), silent(directory.file("beats"));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(unseen.silent_ns(), 0u);
    EXPECT_GT(silent.silent_ns(), 4'000'000u);
}

// Its node died before it could write the reason, or its disk was full.
TEST_P(FinishedParts, AFailureWithoutAReasonEndsTheRunOfAll) {
    auto writers = two_nodes();
    append_on_all(writers);
    auto second = finish_second(writers);
    storage::open_file_storage(parts_.path() + "/" + kFailure, storage::OpenMode::create_new);
    auto const said = second.get();
    EXPECT_NE(said.find("no reason is known"), std::string::npos) << said;
    writers.clear();
    EXPECT_EQ(recover(path_).report.tables[0].rows, 2 * kRows);
}

} // namespace
} // namespace thalweg::dataset
