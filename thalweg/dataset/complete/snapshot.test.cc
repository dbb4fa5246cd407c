#include "thalweg/dataset/complete/snapshot.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>

#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/test_live_pulses.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

// But those of the run itself: segments of its journal come and go.
std::vector<std::string> names_in(std::string const& folder) {
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(folder)) {
        auto const name = entry.path().filename().string();
        if (!name.starts_with("run.")) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

class Snapshot : public ::testing::TestWithParam<char const*> {
  protected:
    std::string run() const { return directory_.file(std::string("run") + GetParam()); }
    std::string out() const { return directory_.file(std::string("so-far") + GetParam()); }
    std::string folder() const { return std::filesystem::path(run()).parent_path(); }

    // Three producers, each with `rows` rows, which have all been taken and partly journaled.
    void record(std::uint64_t rows) {
        writer_ = Writer::create(run(), pulses(kSamples), often_flushed());
        for (std::uint8_t number = 0; number < 3; ++number) {
            producers_.push_back(writer_->producer("pulses"));
            PulseRows(number, 0, rows, kSamples).append_to(producers_.back());
        }
    }

    // Until the journal has all of them.
    SnapshotResult snapshot_of_all(std::uint64_t rows) {
        while (true) {
            auto result = snapshot(run(), out(), {.force = true});
            if (result.report.tables[0].rows == rows) return result;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }

    Directory directory_;
    std::unique_ptr<Writer> writer_;
    std::vector<Producer> producers_;
};

TEST_P(Snapshot, OfARunThatGoesOnHasWhatEveryProducerWroteUpToSomeRow) {
    writer_ = Writer::create(run(), pulses(kSamples), often_flushed());
    std::atomic<bool> enough = false;
    // If snapshots are slow, as under a sanitizer, producers wait for them: otherwise each takes longer than the last
    // one.
    constexpr std::uint64_t kRowsPerSnapshot = 5000;
    std::atomic<std::uint64_t> snapshots = 0;
    std::array<std::atomic<std::uint64_t>, 3> appended{};
    std::vector<std::thread> threads;
    for (std::uint8_t number = 0; number < appended.size(); ++number) {
        threads.emplace_back([&, number] {
            auto producer = writer_->producer("pulses");
            std::uint64_t const at_once = number == 0 ? 1 : 37u * number;
            while (!enough) {
                if (appended[number] > (snapshots + 1) * kRowsPerSnapshot) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    continue;
                }
                PulseRows(number, appended[number], at_once, kSamples).append_to(producer);
                appended[number] += at_once;
                std::this_thread::sleep_for(std::chrono::microseconds(number == 0 ? 2000 : 500));
            }
            producer.finish();
        });
    }
    std::uint64_t rows_before = 0;
    int with_rows = 0;
    for (int i = 0; with_rows < 12; ++i) {
        ASSERT_LT(i, 10'000) << "no rows came";
        auto const result = snapshot(run(), out(), {.force = true});
        ++snapshots;
        auto const rows = rows_of_producers(out());
        for (auto const& [number, count] : rows) EXPECT_LE(count, appended.at(number) + 37 * 2);
        auto const& table = result.report.tables[0];
        EXPECT_GE(table.rows, rows_before);
        if (table.rows == rows_before) continue;
        rows_before = table.rows;
        ++with_rows;
        EXPECT_EQ(table.lost_rows, 0u);
        EXPECT_TRUE(result.report.notes.empty()) << result.report.notes.front();
        EXPECT_EQ(result.file_bytes, std::filesystem::file_size(out()));
        auto const verified = verify(out());
        EXPECT_EQ(verified.faults, 0u) << verified.messages.front();
        EXPECT_EQ(verified.pages_without_checksum, 0u);
        if (HasFailure()) break;
    }
    enough = true;
    for (auto& thread : threads) thread.join();
    auto const report = writer_->close(kTimeoutNs).report;
    EXPECT_EQ(report.tables[0].lost_rows, 0u);
    auto const rows = rows_of_producers(run());
    for (std::uint8_t number = 0; number < appended.size(); ++number) EXPECT_EQ(rows.at(number), appended[number]);
    EXPECT_EQ(verify(run()).faults, 0u);
}

TEST_P(Snapshot, SaysInTheFileWhatItIs) {
    record(500);
    auto const result = snapshot_of_all(1500);
    EXPECT_EQ(result.path, out());
    auto const said = Reader::open(out())->metadata().at("snapshot");
    EXPECT_NE(said.find(std::string("{\"of\":\"run") + GetParam() + "\",\"taken\":\"2"), std::string::npos) << said;
    EXPECT_NE(said.find("\"rows\":{\"pulses\":1500}"), std::string::npos) << said;
    producers_.clear();
    writer_->abandon();
}

// A process that holds a lock of the run keeps `recover` out, and new producers from it.
TEST_P(Snapshot, TakesNoLockAndLeavesTheRunAsItIs) {
    record(500);
    snapshot_of_all(1500);
    producers_.clear();
    writer_->abandon();
    auto const journal_before = std::filesystem::last_write_time(RunPlace(run()).journal());
    auto const file_before = std::filesystem::last_write_time(run());
    bool was_free = false;
    SnapshotOptions options{.force = true, .while_copying = [&] {
                                RunPlace(run()).lock_exclusive();
                                was_free = true;
                            }};
    EXPECT_EQ(snapshot(run(), out(), options).report.tables[0].rows, 1500u);
    EXPECT_TRUE(was_free);
    EXPECT_EQ(std::filesystem::last_write_time(RunPlace(run()).journal()), journal_before);
    EXPECT_EQ(std::filesystem::last_write_time(run()), file_before);
    EXPECT_EQ(recover(run()).report.tables[0].rows, 1500u);
    EXPECT_EQ(rows_of_producers(run()), rows_of_producers(out()));
}

TEST_P(Snapshot, OfNoRunIsAnErrorThatSaysWhatToDo) {
    auto const said = [&](std::string const& path, std::string const& to, bool force = false) {
        return message_of([&] { snapshot(path, to, {.force = force}); });
    };
    EXPECT_NE(said(run(), out()).find("there is no such file"), std::string::npos);
    record(100);
    EXPECT_NE(said(run(), directory_.file("so-far.txt")).find("of no known format"), std::string::npos);
    auto const other = directory_.file(std::string(GetParam()) == ".h5" ? "so-far.root" : "so-far.h5");
    EXPECT_NE(said(run(), other).find("of the same container"), std::string::npos);
    EXPECT_NE(said(run(), run(), true).find("to itself"), std::string::npos);
    std::ofstream(out()) << "some bytes";
    EXPECT_NE(said(run(), out()).find("it exists already"), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(out()), 10u);
    auto const nowhere = directory_.file("no-such-folder/so-far") + GetParam();
    EXPECT_NE(said(run(), nowhere).find("cannot create"), std::string::npos);
    producers_.clear();
    writer_->close(kTimeoutNs);
    EXPECT_NE(said(run(), out(), true).find("it has no journal: it is complete"), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(out()), 10u);
}

TEST_P(Snapshot, ThatDoesNotFitLeavesNothing) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    record(2000);
    snapshot_of_all(6000);
    auto const before = names_in(folder());
    auto const another = directory_.file(std::string("full") + GetParam());
    auto const child = ::fork();
    if (child == 0) { // files of this process may not be larger
        std::signal(SIGXFSZ, SIG_IGN);
        rlimit const small{100'000, 100'000};
        ::setrlimit(RLIMIT_FSIZE, &small);
        auto const first = message_of([&] { snapshot(run(), another); });
        auto const second = message_of([&] { snapshot(run(), out(), {.force = true}); });
        bool const said = first.find("File too large") != std::string::npos && //
                          second.find("File too large") != std::string::npos;
        ::_exit(said ? 7 : 8);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_EQ(names_in(folder()), before);
    EXPECT_EQ(rows_of_producers(out()).size(), 3u); // the one that was there
    producers_.clear();
    writer_->abandon();
}

// Their rows are in no page yet, so the journal does not know of them.
TEST_P(Snapshot, CountsCommittedUnitsWhoseRowsAreOnlyInMemory) {
    auto options = often_flushed();
    options.commit.flush_interval_ns = kTimeoutNs; // a flush would journal them
    writer_ = Writer::create(run(), pulses(kSamples), options);
    for (std::int64_t key = 0; key < 3; ++key) {
        auto unit = writer_->work_unit(key);
        PulseRows(0, static_cast<std::uint64_t>(key) * 2, 2, kSamples).append_to(unit["pulses"]);
        unit.commit();
    }
    auto const taken = snapshot(run(), out());
    EXPECT_EQ(taken.report.units, 0u);
    EXPECT_EQ(taken.units_left_out, 3u);
    writer_->close(kTimeoutNs);
}

// However it is killed, there is the whole file or none.
TEST_P(Snapshot, ThatIsKilledLeavesNothing) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    record(20'000);
    snapshot_of_all(60'000);
    std::filesystem::remove(out());
    auto const before = names_in(folder());
    int finished = 0;
    for (int i = 0; i < 40; ++i) {
        auto const child = ::fork();
        if (child == 0) {
            message_of([&] { snapshot(run(), out(), {.force = true}); });
            ::_exit(0);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(i * 1000));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        auto const now = names_in(folder());
        if (now == before) continue;
        ++finished;
        EXPECT_EQ(verify(out()).faults, 0u);
        std::filesystem::remove(out());
        ASSERT_EQ(names_in(folder()), before) << "attempt " << i;
    }
    EXPECT_LT(finished, 40);
    producers_.clear();
    writer_->abandon();
}

INSTANTIATE_TEST_SUITE_P(Containers, Snapshot, ::testing::Values(".h5", ".root"));

} // namespace
} // namespace thalweg::dataset
