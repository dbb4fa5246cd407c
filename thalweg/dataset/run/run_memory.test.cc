#include "thalweg/dataset/run/run_memory.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/test_small_shm.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/test_bad_day.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;
using base::testing::in_small_shm;
using base::testing::kMayNotMount;

constexpr std::uint64_t kSamples = 50;
constexpr std::uint64_t kRowsInMemory = 700;

std::size_t memory_files_in(std::string const& folder) {
    return base::SharedMemory::list(base::name_in_folder(folder, kSegmentPrefix)).size();
}

std::string folder_of(Directory const& directory) {
    return std::filesystem::path(directory.file("x")).parent_path().string();
}

void skip_or_expect(int result) {
    if (result == kMayNotMount) GTEST_SKIP() << "this user may not mount here";
    EXPECT_EQ(result, 0);
}

// Creates the run, attaches from another process, and kills both when all rows are published.
bool killed_run(std::string const& path, CreateOptions const& options, std::string& place) {
    int ends[2];
    if (::pipe(ends) != 0) return false;
    auto const child = ::fork();
    if (child == 0) {
        auto const writer = Writer::create(path, events(kSamples), options);
        auto mine = writer->producer("events");
        append_events(mine, 0, 0, kRowsInMemory, kSamples);
        if (::fork() == 0) {
            Producer theirs(attach(writer->handle()), 0);
            append_events(theirs, 1, 0, kRowsInMemory, kSamples);
            auto const said = Ledger::attach(writer->handle())->memory_place();
            static_cast<void>(!::write(ends[1], said.data(), said.size()));
            ::raise(SIGKILL);
        }
        ::close(ends[1]);
        while (::wait(nullptr) > 0) {
        }
        ::raise(SIGKILL);
    }
    ::close(ends[1]);
    char said[1200] = {};
    bool const read = ::read(ends[0], said, sizeof said - 1) > 0;
    ::close(ends[0]);
    place = said;
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFSIGNALED(status) && read;
}

bool all_recovered(std::string const& path) {
    auto const result = recover(path);
    return result.report.tables[0].rows == 2 * kRowsInMemory && result.report.tables[0].lost_rows == 0 &&
           result.report.notes.empty();
}

class RunMemory : public ::testing::TestWithParam<char const*> {};

// Nothing was flushed, so the rows are in memory only.
TEST_P(RunMemory, WithoutRoomInDevShmAKilledRunLosesNothing) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    Directory const directory;
    auto const path = directory.file(GetParam());
    CreateOptions options;
    options.commit.flush_interval_ns = 3'600'000'000'000;
    skip_or_expect(in_small_shm("size=64k", [&] {
        std::string place;
        if (!killed_run(path, options, place)) return 1;
        if (place != folder_of(directory) + " (/dev/shm has no room)") return 2;
        if (memory_files_in(folder_of(directory)) != 4) return 3; // ledger, board, two producers
        if (!all_recovered(path)) return 4;
        return memory_files_in(folder_of(directory)) == 0 ? 0 : 5;
    }));
}

TEST_P(RunMemory, ItIsFoundWhereTheJournalSaysEvenIfTheRunWasMoved) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    Directory const directory, elsewhere, memory;
    auto const path = directory.file(GetParam()), moved = elsewhere.file(GetParam());
    CreateOptions options;
    options.commit.flush_interval_ns = 3'600'000'000'000;
    options.memory_folder = folder_of(memory);
    skip_or_expect(in_small_shm("size=64k", [&] {
        std::string place;
        if (!killed_run(path, options, place)) return 1;
        if (memory_files_in(folder_of(memory)) != 4 || memory_files_in(folder_of(directory)) != 0) return 2;
        std::filesystem::rename(path, moved);
        std::filesystem::rename(journal_path(path), journal_path(moved));
        if (!all_recovered(moved)) return 3;
        return memory_files_in(folder_of(memory)) == 0 ? 0 : 4;
    }));
}

// Room for the ledger and one producer, and then for no more.
TEST_P(RunMemory, BothPlacesServeOneRun) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    Directory const directory;
    auto const path = directory.file(GetParam());
    CreateOptions options;
    options.commit.flush_interval_ns = 3'600'000'000'000;
    if (path.ends_with(".h5")) // so that a page of each column is more than what is left
        options.layout.wide_page_bytes = options.layout.narrow_page_bytes.emplace(4 << 20);
    auto const head = format_for(path).make_head(events(kSamples), options.layout, {});
    auto const plan = plan_staging(head.columns[0], head.layouts[0], options.write.staging);
    auto const size = "size=" + std::to_string(plan.memory_size().allocated_bytes + 1'000'000);
    skip_or_expect(in_small_shm(size.c_str(), [&] {
        std::string place;
        if (!killed_run(path, options, place)) return 1;
        if (place != "/dev/shm and " + folder_of(directory) + " (/dev/shm has no room for all)") return 2;
        if (memory_files_in(folder_of(directory)) != 1) return 3;
        if (!all_recovered(path)) return 4;
        return memory_files_in(folder_of(directory)) + memory_files_in("/dev/shm") == 0 ? 0 : 5;
    }));
}

TEST_P(RunMemory, AClosedRunLeavesNothingInTheFolder) {
    Directory const directory;
    auto const path = directory.file(GetParam());
    skip_or_expect(in_small_shm("size=64k", [&] {
        auto const writer = Writer::create(path, events(kSamples), {});
        auto first = writer->producer("events"), second = writer->producer("events");
        append_events(first, 0, 0, kRowsInMemory, kSamples);
        append_events(second, 1, 0, kRowsInMemory, kSamples);
        if (memory_files_in(folder_of(directory)) != 4) return 1;
        if (writer->status().memory != folder_of(directory) + " (/dev/shm has no room)") return 4;
        first.finish();
        second.finish();
        if (writer->close(kTimeoutNs).report.tables[0].rows != 2 * kRowsInMemory) return 2;
        return memory_files_in(folder_of(directory)) == 0 ? 0 : 3;
    }));
}

// A file outlives the restart, but the kernel wrote back what it liked, when it liked.
TEST_P(RunMemory, WhatIsFromBeforeARestartIsNotTrusted) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    Directory const directory;
    auto const path = directory.file(GetParam());
    CreateOptions options;
    options.commit.flush_interval_ns = 3'600'000'000'000;
    skip_or_expect(in_small_shm("size=64k", [&] {
        std::string place;
        if (!killed_run(path, options, place)) return 1;
        for (auto const& name : base::SharedMemory::list(base::name_in_folder(folder_of(directory), kSegmentPrefix))) {
            auto const file = std::filesystem::path(name).filename().string();
            bool const is_ledger = file.find('-', std::string(kSegmentPrefix).size()) == std::string::npos;
            if (is_ledger) Ledger::attach(name)->head().boot_id[0] ^= 1;
        }
        auto const result = recover(path);
        if (result.report.tables[0].rows == 2 * kRowsInMemory || result.report.notes.size() != 1) return 2;
        return memory_files_in(folder_of(directory)) == 0 ? 0 : 3;
    }));
}

// A producer that published rows before the committer met it is in no journal.
TEST_P(RunMemory, IfItIsGoneRowsMayBeLostOfUnknownProducers) {
    Directory const directory;
    auto const path = directory.file(GetParam());
    auto const child = ::fork();
    if (child == 0) {
        auto const writer = Writer::create(path, events(kSamples), {});
        remove_segments(writer->handle());
        ::raise(SIGKILL);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    auto const report = recover(path).report;
    EXPECT_EQ(report.producers, 0u);
    ASSERT_EQ(report.notes.size(), 1u);
    EXPECT_NE(report.notes[0].find("rows published after the last ones in the journal may be lost"), std::string::npos)
        << report.notes[0];
}

TEST_P(RunMemory, WhereAllWasJournaledInTheEndNothingIsSaidToBeLost) {
    Directory const directory;
    auto const path = directory.file(GetParam());
    auto const writer = Writer::create(path, events(kSamples), {});
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, kRowsInMemory, kSamples);
    producer.finish();
    writer->abandon();
    auto const report = recover(path).report;
    EXPECT_EQ(report.tables[0].rows, kRowsInMemory);
    EXPECT_EQ(report.notes, std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Containers, RunMemory, ::testing::Values("run.h5", "run.root"));

TEST(RunMemoryFolder, IsWhatIsWantedThenWhatTheEnvironmentNamesThenThatOfTheData) {
    Directory const data, wanted, named;
    auto const path = data.file("run.h5");
    EXPECT_EQ(memory_fallback(path).folder, folder_of(data));
    ::setenv(kMemoryFolderVariable, folder_of(named).c_str(), 1);
    EXPECT_EQ(memory_fallback(path).folder, folder_of(named));
    EXPECT_EQ(memory_fallback(path, folder_of(wanted)).folder, folder_of(wanted));
    ::setenv(kMemoryFolderVariable, "/no/such/folder", 1);
    EXPECT_NE(message_of([&] { memory_fallback(path); }).find(kMemoryFolderVariable), std::string::npos);
    ::unsetenv(kMemoryFolderVariable);
}

TEST(RunMemoryFolder, AFileSystemThatCannotHoldItIsSaid) {
    auto const fallback = memory_fallback("/proc/run.h5"); // any that is not on the list
    EXPECT_EQ(fallback.folder, "");
    EXPECT_NE(fallback.suggestion.find(kMemoryFolderVariable), std::string::npos);
    EXPECT_NE(fallback.suggestion.find("/proc/run.h5 does not promise"), std::string::npos) << fallback.suggestion;
}

} // namespace
} // namespace thalweg::dataset
