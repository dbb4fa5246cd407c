#include "thalweg/dataset/writer.h"

#include <array>
#include <atomic>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <latch>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

TEST(Writer, TwoThreadsWriteOneFile) {
    Directory const directory;
    auto const writer = Writer::create(directory.file("run.h5"), pulses(1000), {});
    {
        std::vector<std::jthread> threads;
        for (std::uint8_t who = 0; who < 2; ++who) {
            threads.emplace_back([&, who] {
                auto producer = writer->producer("pulses");
                for (std::uint64_t row = 0; row < 5000; row += 7) {
                    PulseRows(who, row, std::min<std::uint64_t>(7, 5000 - row), 1000).append_to(producer);
                }
                producer.finish();
            });
        }
    }
    auto const result = writer->close(kTimeoutNs);
    EXPECT_EQ(result.report.tables[0].rows, 10000u);
    EXPECT_EQ(result.report.tables[0].lost_rows, 0u);
    EXPECT_EQ(result.report.producers, 2u);
    EXPECT_FALSE(std::filesystem::exists(directory.file("run.h5.journal")));
}

RowCounts rows_in(std::string const& path) {
    return expect_right(*storage::open_file_storage(path, storage::OpenMode::read_only));
}

TEST(Writer, CloseNamesWhoIsNotFinished) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const writer = Writer::create(path, events(), {});
    auto first = writer->producer("events");
    append_events(first, 0, 0, 12);
    for (bool met = false; !met; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
        auto const producers = writer->status().producers;
        met = !producers.empty() && producers[0].rows == 12;
    }
    auto second = std::make_unique<Producer>(writer->producer("events")); // the committer has hardly met it
    auto const message = message_of([&] { writer->close(0); });
    EXPECT_NE(message.find(fmt::format("process {} (table 'events', 12 rows)", ::getpid())), std::string::npos)
        << message;
    append_events(first, 0, 12, 1); // the run is still open
    first.finish();
    EXPECT_NE(message_of([&] { writer->close(1'000'000); }), "");
    append_events(*second, 1, 0, 5);
    second.reset();
    writer->close(kTimeoutNs);
    EXPECT_EQ(rows_in(path), (RowCounts{{0, 13}, {1, 5}}));
    EXPECT_NE(message_of([&] { writer->close(kTimeoutNs); }), "");
    EXPECT_NE(message_of([&] { writer->producer("events"); }), "");
}

// More than the committer allocates at first: it has to learn of the claim that waits.
TEST(Writer, APageMayBeLargerThanWhatIsAllocatedAhead) {
    Directory const directory;
    CreateOptions options;
    options.layout.wide_codec = "none";
    constexpr std::uint64_t kValues = 5 << 20; // 40 MiB
    auto const writer = Writer::create(directory.file("run.h5"),
                                       {{{"t", {scalar("image", model::Scalar::float64, {kValues})}, ""}}}, options);
    auto producer = writer->producer("t");
    std::vector<double> const image(kValues, 0.5);
    std::span<std::byte const> const columns[] = {std::as_bytes(std::span(image))};
    for (int i = 0; i < 3; ++i) producer.append(1, columns);
    producer.finish();
    EXPECT_EQ(writer->close(kTimeoutNs).report.tables[0].rows, 3u);
}

// A process that gets a producer may count on it, whenever the run is closed.
TEST(Writer, NoProducerIsMissedByAClose) {
    for (int i = 0; i < 60; ++i) {
        Directory const directory;
        auto const path = directory.file("run.h5");
        auto const writer = Writer::create(path, events(), small_shared_options());
        auto const run = attach(writer->handle());
        std::uint64_t published = 0;
        std::jthread thread([&] {
            std::this_thread::sleep_for(std::chrono::microseconds(i * 20));
            try {
                Producer producer(run, 0);
                for (; published < 30; ++published) append_events(producer, 0, published, 1);
                producer.finish();
            } catch (base::Error const&) { // it came too late
            }
        });
        auto const result = writer->close(kTimeoutNs);
        thread.join();
        EXPECT_EQ(result.report.tables[0].rows, published);
    }
}

// Counts segments of runs in this directory: tests of other processes have segments of their own.
std::size_t segments_of(Directory const& directory) {
    std::size_t found = 0;
    for (auto const& name : base::SharedMemory::list(kSegmentPrefix)) {
        try {
            found += std::string(Ledger::attach(name)->head().path).starts_with(directory.file("")) ? 1 : 0;
        } catch (base::UsageError const&) {
            continue; // no ledger, or it has just gone
        }
    }
    return found;
}

TEST(Writer, ACreationThatFailsLeavesNothingBehind) {
    Directory const directory;
    EXPECT_NE(message_of([&] { Writer::create(directory.file("no/such/run.h5"), events(), {}); }), "");
    std::filesystem::create_symlink("/no/such/place.h5", directory.file("run.h5"));
    EXPECT_NE(message_of([&] { Writer::create(directory.file("run.h5"), events(), {}); }).find("run.h5"),
              std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(directory.file("run.h5.journal")));
    EXPECT_EQ(segments_of(directory), 0u);
    auto const writer = Writer::create(directory.file("good.h5"), events(), {});
    EXPECT_EQ(segments_of(directory), 1u);
    writer->close(kTimeoutNs);
}

TEST(Writer, WhatIsThereIsReplacedOnlyByForce) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto writer = Writer::create(path, events(), {});
    EXPECT_NE(message_of([&] { Writer::create(path, events(), {}); }), ""); // two recorders on one path
    CreateOptions force;
    force.force = true;
    EXPECT_NE(message_of([&] { Writer::create(path, events(), force); }), ""); // not even then: it is alive
    {
        auto producer = writer->producer("events");
        append_events(producer, 0, 0, 3);
    }
    writer.reset();
    EXPECT_NE(message_of([&] { Writer::create(path, events(), {}); }).find("journal of an unfinished run"),
              std::string::npos);
    EXPECT_EQ(recover(path).report.tables[0].rows, 3u);
    EXPECT_NE(message_of([&] { Writer::create(path, events(), {}); }).find("it exists"), std::string::npos);
    EXPECT_EQ(rows_in(path), (RowCounts{{0, 3}}));
    writer = Writer::create(path, events(), force);
    writer->close(kTimeoutNs);
    EXPECT_EQ(rows_in(path), RowCounts{});
}

// A terminal that is gone, or a full disk behind stderr, ends neither the process nor what its destructors do.
TEST(Writer, AForgottenWriterIsAbandonedEvenIfThatCannotBeSaid) {
    if (kWhyNoFork != nullptr) GTEST_SKIP() << kWhyNoFork;
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const child = ::fork();
    if (child == 0) {
        auto writer = Writer::create(path, events(), {});
        auto producer = writer->producer("events");
        append_events(producer, 0, 0, 3);
        producer.finish();
        ::dup2(::open("/dev/full", O_WRONLY), STDERR_FILENO);
        writer.reset();
        ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(recover(path).report.tables[0].rows, 3u);
}

TEST(Writer, AnAbandonedRunIsRecoveredWhenItsProducersAreGone) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto writer = Writer::create(path, events(), small_shared_options());
    auto const ledger = writer->handle();
    {
        auto producer = writer->producer("events");
        append_events(producer, 0, 0, 500);
        writer->abandon(); // with a producer at work
        EXPECT_NE(message_of([&] { append_events(producer, 0, 500, 1); }), "");
        writer.reset();
        EXPECT_NE(message_of([&] { recover(path); }), ""); // it might still write what it has
    }
    EXPECT_EQ(recover(path).report.tables[0].rows, 500u);
    EXPECT_EQ(rows_in(path), (RowCounts{{0, 500}}));
    EXPECT_TRUE(base::SharedMemory::list(ledger).empty());
}

// Killed after the producers' memory was let go and before the journal was: nothing is lost, and nothing else is said.
TEST(Writer, ARecoveryThatWasAllButDoneIsEnded) {
    Directory const directory;
    auto const path = directory.file("run.h5"), kept = directory.file("kept");
    int handle_pipe[2];
    ASSERT_EQ(::pipe(handle_pipe), 0);
    auto const child = ::fork(); // while there are no threads
    if (child == 0) {
        char name[64] = {};
        if (::read(handle_pipe[0], name, sizeof name - 1) <= 0) ::_exit(1);
        Producer producer(attach(name), 0);
        append_events(producer, 0, 0, 500);
        ::_exit(0); // without finishing: it is lost, and its rows are not
    }
    auto options = small_shared_options();
    options.journal = {}; // one file
    auto writer = Writer::create(path, events(), options);
    auto const handle = writer->handle();
    ASSERT_GT(::write(handle_pipe[1], handle.data(), handle.size()), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    writer->abandon();
    writer.reset();
    std::filesystem::create_hard_link(journal_path(path), kept);
    EXPECT_EQ(recover(path).report.producers_lost, 1u);
    std::filesystem::rename(kept, journal_path(path));
    auto const report = recover(path).report;
    EXPECT_EQ(report.tables[0].rows, 500u);
    EXPECT_EQ(report.notes, std::vector<std::string>{});
}

// A producer that dies while its run is abandoned: the process that found it alive left its memory to `recover`.
TEST(Writer, WhatDiesWhileTheRunIsAbandonedLosesNothing) {
    Directory const directory;
    for (int round = 0; round < 15; ++round) {
        auto const path = directory.file(fmt::format("run{}.h5", round));
        int handle_pipe[2], published_pipe[2];
        ASSERT_EQ(::pipe(handle_pipe), 0);
        ASSERT_EQ(::pipe(published_pipe), 0);
        auto const child = ::fork(); // while there are no threads
        if (child == 0) {
            char name[64] = {};
            if (::read(handle_pipe[0], name, sizeof name - 1) <= 0) ::_exit(1);
            Producer producer(attach(name), 0);
            try {
                for (std::uint64_t row = 0;; row += 3) {
                    append_events(producer, 0, row, 3);
                    auto const rows = row + 3;
                    static_cast<void>(!::write(published_pipe[1], &rows, sizeof rows));
                }
            } catch (base::Error const&) { // the run takes no more rows
                while (true) ::pause();    // and its producer neither finishes nor says why
            }
        }
        ::close(published_pipe[1]);
        auto writer = Writer::create(path, events(), small_shared_options());
        auto const handle = writer->handle();
        ASSERT_GT(::write(handle_pipe[1], handle.data(), handle.size()), 0);
        std::uint64_t published = 0, more = 0;
        ASSERT_EQ(::read(published_pipe[0], &published, sizeof published), sizeof published);
        {
            std::jthread const killer([&] {
                std::this_thread::sleep_for(std::chrono::microseconds(400 * round));
                ::kill(child, SIGKILL);
                ::waitpid(child, nullptr, 0);
            });
            writer->abandon();
        }
        writer.reset();
        while (::read(published_pipe[0], &more, sizeof more) == sizeof more) published = more;
        ::close(published_pipe[0]);
        for (auto const end : handle_pipe) ::close(end);
        auto const report = recover(path).report;
        EXPECT_GE(report.tables[0].rows, published) << "round " << round;
        EXPECT_EQ(report.notes, std::vector<std::string>{}) << "round " << round;
    }
}

TEST(Writer, TheFilesOfAnotherRunAreNotMixed) {
    Directory const directory;
    auto const path = directory.file("run.h5"), other = directory.file("other.h5");
    for (auto const& each : {path, other}) Writer::create(each, events(), {});
    std::filesystem::remove(journal_path(path));
    std::filesystem::rename(journal_path(other), journal_path(path));
    EXPECT_NE(message_of([&] { recover(path); }).find("do not belong together"), std::string::npos);
}

// Files in a row; some producers are fast, one is in another process and is killed in the middle.
TEST(Writer, RotationLosesAndDoublesNothing) {
    Directory const directory;
    auto const options = small_shared_options();
    auto const path_of = [&](int file) { return directory.file(fmt::format("run{}.h5", file)); };
    int handle_pipe[2], published_pipe[2];
    ASSERT_EQ(::pipe(handle_pipe), 0);
    ASSERT_EQ(::pipe(published_pipe), 0);
    auto const child = ::fork(); // while there are no threads
    if (child == 0) {
        char name[64] = {};
        if (::read(handle_pipe[0], name, sizeof name - 1) <= 0) ::_exit(1);
        Producer producer(attach(name), 0);
        for (std::uint64_t row = 0;;) {
            append_events(producer, 9, row, 3);
            row += 3;
            static_cast<void>(!::write(published_pipe[1], &row, sizeof row));
            std::this_thread::sleep_for(std::chrono::microseconds(300 * kSlower));
        }
    }
    ::close(published_pipe[1]);
    auto writer = Writer::create(path_of(0), events(), options);
    auto const handle = writer->handle();
    ASSERT_GT(::write(handle_pipe[1], handle.data(), handle.size()), 0);
    constexpr int kFiles = 6;
    std::atomic<bool> stop = false;
    std::uint64_t published = 0; // by the child, which is there before the first file ends
    ASSERT_EQ(::read(published_pipe[0], &published, sizeof published), sizeof published);
    std::vector<std::jthread> threads;
    std::array<std::uint64_t, 3> rows{};
    std::latch all_there(4);
    for (std::uint8_t who = 0; who < 3; ++who) {
        threads.emplace_back([&, who, run = attach(handle)] {
            Producer producer(run, 0);
            all_there.count_down();
            while (!stop) {
                append_events(producer, who, rows[who], 1 + who * 20);
                rows[who] += 1 + who * 20;
                std::this_thread::sleep_for(std::chrono::microseconds(200 * kSlower));
            }
            producer.finish();
        });
    }
    all_there.arrive_and_wait();
    for (int file = 1; file < kFiles; ++file) {
        std::this_thread::sleep_for(std::chrono::milliseconds(15));
        auto next = writer->create_next(path_of(file), options);
        writer->continue_in(*next);
        if (file == 3) ::kill(child, SIGKILL);
        writer->close(kTimeoutNs);
        writer = std::move(next);
    }
    stop = true;
    threads.clear();
    writer->close(kTimeoutNs);
    ::waitpid(child, nullptr, 0);
    while (::read(published_pipe[0], &published, sizeof published) == sizeof published) {
    }
    ::close(published_pipe[0]);

    RowCounts there;
    for (int file = 0; file < kFiles; ++file) {
        auto const storage = storage::open_file_storage(path_of(file), storage::OpenMode::read_only);
        auto const map = format::hdf5::files::hdf5_format().load(*storage);
        auto const producers = column_of<std::uint8_t>(map, 0, *storage);
        auto const ids = column_of<std::uint64_t>(map, 1, *storage);
        for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], there[producers[i]]++) << file;
    }
    for (std::uint8_t who = 0; who < 3; ++who) EXPECT_EQ(there[who], rows[who]);
    EXPECT_GE(there[9], published);
    EXPECT_GT(published, 0u);
}

} // namespace
} // namespace thalweg::dataset
