#include "thalweg/dataset/run/left_over.h"

#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/memory.h"
#include "thalweg/base/process.h"
#include "thalweg/base/test_small_shm.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/complete/take_over.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/test_bad_day.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kRows = 300;

// Its rows are in memory only, unless something is flushed.
std::string killed_run(std::string const& path, std::uint64_t flush_interval_ns = 3'600'000'000'000) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    auto const child = ::fork();
    if (child == 0) {
        CreateOptions options;
        options.commit.flush_interval_ns = flush_interval_ns;
        auto const writer = Writer::create(path, events(), options);
        auto producer = writer->producer("events");
        append_events(producer, 0, 0, kRows);
        auto const is_flushed = [&] { return !writer->status().producers.at(0).durable_items.empty(); };
        while (flush_interval_ns < 1'000'000'000 && !is_flushed())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        static_cast<void>(!::write(ends[1], writer->handle().data(), writer->handle().size()));
        ::raise(SIGKILL);
    }
    ::close(ends[1]);
    char handle[1200] = {};
    EXPECT_GT(::read(ends[0], handle, sizeof handle - 1), 0);
    ::close(ends[0]);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return handle;
}

MemoryOfRun memory_of(std::string const& handle, std::vector<std::string> const& folders = {}) {
    for (auto& each : list_memory(folders)) {
        if (each.ledger == handle) return each;
    }
    ADD_FAILURE() << handle << " is not listed";
    return {};
}

bool is_there(std::string const& handle) { return !base::SharedMemory::list(handle).empty(); }

void move_run(std::string const& from, std::string const& to) {
    std::filesystem::rename(from, to);
    std::filesystem::rename(journal_path(from), journal_path(to));
}

TEST(LeftOver, AMovedRunKeepsItsRowsHoweverManyRunsBegin) {
    Directory const directory;
    auto const path = directory.file("run.h5"), moved = directory.file("moved.h5");
    auto const handle = killed_run(path);
    move_run(path, moved);
    Writer::create(directory.file("other.h5"), events(), {})->close(kTimeoutNs);
    EXPECT_EQ(recover(moved).report.tables[0].rows, kRows);
    EXPECT_FALSE(is_there(handle));
}

TEST(LeftOver, TheUnfinishedRunIsNotClearedWhileItIsWhereItWas) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const memory = memory_of(killed_run(path));
    EXPECT_EQ(memory.state, MemoryState::recoverable);
    EXPECT_EQ(memory.data_path, path);
    EXPECT_EQ(memory.files.size(), 3u); // ledger, board, producer
    EXPECT_GT(memory.size_bytes, std::uint64_t{16} << 20);
    EXPECT_NE(memory.why.find("thalweg recover " + path), std::string::npos);
    EXPECT_NE(message_of([&] { remove_left_over(memory); }).find("is not cleared"), std::string::npos);
    EXPECT_EQ(recover(path).report.tables[0].rows, kRows);
}

TEST(LeftOver, WhatNoJournalSpeaksOfAnyMoreIsClearedOnDemandOnly) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const handle = killed_run(path);
    std::filesystem::remove(path);
    std::filesystem::remove(journal_path(path));
    remove_stale_segments();
    auto const memory = memory_of(handle);
    EXPECT_EQ(memory.state, MemoryState::left_over);
    EXPECT_FALSE(memory.closed);
    remove_left_over(memory);
    EXPECT_FALSE(is_there(handle));
}

// `recover` and `clean` say the same of it.
TEST(LeftOver, ARunWhoseFileWasRemovedCannotBeRecovered) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const handle = killed_run(path, 1'000'000);
    std::filesystem::rename(path, directory.file("elsewhere"));
    auto const memory = memory_of(handle);
    EXPECT_EQ(memory.state, MemoryState::left_over);
    EXPECT_NE(memory.why.find(path + " is not there any more"), std::string::npos) << memory.why;
    EXPECT_NE(message_of([&] { recover(path); }).find("has no file any more"), std::string::npos);
    EXPECT_NE(message_of([&] { Writer::create(path, events(), {}); }).find("put its file back"), std::string::npos);
    EXPECT_TRUE(is_there(handle));
    std::filesystem::rename(directory.file("elsewhere"), path);
    EXPECT_EQ(memory_of(handle).state, MemoryState::recoverable);
    EXPECT_EQ(recover(path).report.tables[0].rows, kRows);
}

TEST(LeftOver, ARunThatWasClosedNeedsNothing) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const handle = killed_run(path);
    Ledger::attach(handle)->head().state = LedgerState::closed; // and then its process was killed
    // Another process that begins a run may look at it just now, and then it is that one that removes it.
    for (int i = 0; i < 1000 && is_there(handle); ++i) {
        remove_stale_segments();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_FALSE(is_there(handle));
    recover(path);
}

TEST(LeftOver, WhatALivingProcessHoldsIsRefused) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const writer = Writer::create(path, events(), {});
    auto const memory = memory_of(writer->handle());
    EXPECT_EQ(memory.state, MemoryState::held);
    EXPECT_NE(message_of([&] { remove_left_over(memory); }).find("living processes use it"), std::string::npos);
    writer->close(kTimeoutNs);
    auto const handle = killed_run(path + ".h5");
    std::filesystem::remove(journal_path(path + ".h5"));
    {
        auto const recovering = hold_memory(handle); // as `recover` does of a run that was moved
        EXPECT_EQ(memory_of(handle).state, MemoryState::held);
        EXPECT_NE(message_of([&] { remove_left_over(memory_of(handle)); }), "");
    }
    EXPECT_EQ(memory_of(handle).state, MemoryState::left_over);
    remove_left_over(memory_of(handle));
}

TEST(LeftOver, OthersAreNeverTouched) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const handle = killed_run(path);
    std::filesystem::remove(journal_path(path));
    auto const ledger = Ledger::attach(handle);
    auto const expect_foreign = [&](std::string const& why) {
        auto const memory = memory_of(handle);
        EXPECT_EQ(memory.state, MemoryState::foreign);
        EXPECT_NE(memory.why.find(why), std::string::npos) << memory.why;
        EXPECT_NE(message_of([&] { remove_left_over(memory); }), "");
        remove_stale_segments();
        EXPECT_TRUE(is_there(handle));
    };
    auto const changed = [&](auto& value, auto const& why) {
        value ^= 1;
        expect_foreign(why);
        value ^= 1;
    };
    changed(ledger->head().host[0], "another machine or container");
    changed(ledger->head().boot_id[0], "restart");
    changed(ledger->head().pid_namespace, "another container");
    changed(ledger->head().device, "not mounted here");
    changed(ledger->head().version, "another version");
    remove_left_over(memory_of(handle));
    EXPECT_FALSE(is_there(handle));
}

TEST(LeftOver, FoldersAreLookedAtToo) {
    Directory const directory;
    auto const folder = std::filesystem::path(directory.file("x")).parent_path().string();
    auto const path = directory.file("run.h5");
    auto const result = base::testing::in_small_shm("size=64k", [&] {
        auto const handle = killed_run(path);
        if (!handle.starts_with(folder)) return 1;
        if (!list_memory().empty()) return 2;
        std::filesystem::remove(journal_path(path));
        auto const memory = memory_of(handle, {folder});
        if (memory.state != MemoryState::left_over || memory.files.size() != 3) return 3;
        remove_left_over(memory);
        return base::SharedMemory::list(base::name_in_folder(folder, kSegmentPrefix)).empty() ? 0 : 4;
    });
    if (result == base::testing::kMayNotMount) GTEST_SKIP() << "this user may not mount here";
    EXPECT_EQ(result, 0);
}

} // namespace
} // namespace thalweg::dataset
