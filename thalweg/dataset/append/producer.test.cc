#include "thalweg/dataset/append/producer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

// A run in memory, and what is in its file when it is closed.
struct MemoryRun {
    explicit MemoryRun(CreateOptions const& options, storage::FaultPlan const& plan = {})
        : file(std::make_shared<storage::FaultyStorage>(storage::make_memory_storage("run.h5"),
                                                        std::make_shared<storage::Faults>(plan))),
          writer(Writer::create_on(file, storage::make_memory_storage("run.h5.journal"),
                                   format::hdf5::files::hdf5_format(),
                                   model::make_run_head(events(), options.layout, {}), options)) {}

    RowCounts close() {
        writer->close(kTimeoutNs);
        return expect_right(*file);
    }

    std::shared_ptr<storage::FaultyStorage> file;
    std::unique_ptr<Writer> writer;
};

TEST(Producer, SealsInAnyNumberOfThreads) {
    for (unsigned const threads : {0u, 1u, 3u}) {
        SCOPED_TRACE(threads);
        auto options = small_run_options();
        options.write.seal_threads = threads;
        MemoryRun run(options);
        auto producer = run.writer->producer("events");
        for (std::uint64_t row = 0, size = 1; row < 3000; row += size, size = size % 97 + 1) {
            append_events(producer, 0, row, std::min<std::uint64_t>(size, 3000 - row));
        }
        append_events(producer, 0, 3000, 0);
        append_events(producer, 0, 3000, 1000); // many pages in one call
        EXPECT_EQ(producer.rows(), 4000u);
        producer.finish();
        EXPECT_THROW(append_events(producer, 0, 4000, 1), base::UsageError);
        EXPECT_EQ(run.close(), (RowCounts{{0, 4000}}));
    }
}

TEST(Producer, RunsMayHaveNoRowsOrOne) {
    MemoryRun none(small_run_options());
    EXPECT_EQ(none.close(), RowCounts{});
    MemoryRun one(small_run_options());
    auto producer = one.writer->producer("events");
    append_events(producer, 5, 0, 1);
    producer.finish();
    EXPECT_EQ(one.close(), (RowCounts{{5, 1}}));
}

TEST(Producer, ManyShareOneRun) {
    MemoryRun run(small_run_options());
    RowCounts expected;
    {
        std::vector<std::jthread> threads;
        for (std::uint8_t who = 0; who < 24; ++who) {
            expected[who] = 100 + who;
            threads.emplace_back([&, who] {
                auto producer = run.writer->producer("events");
                for (std::uint64_t row = 0; row < 100u + who; ++row) append_events(producer, who, row, 1);
                producer.finish();
            });
        }
    }
    EXPECT_EQ(run.close(), expected);
}

// As a committer does that takes the process for dead: the producer's slot is another process's from then on.
TEST(Producer, OneThatHasLostItsSlotSaysSo) {
    Directory const directory;
    auto options = small_run_options();
    options.shared = true;
    auto const writer = Writer::create(directory.file("run.h5"), events(), options);
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, 10);
    auto const ledger = Ledger::attach(writer->handle());
    ASSERT_TRUE(ledger->slot(0).change(SlotState::active, SlotState::settled));
    for (auto const& work :
         std::vector<std::function<void()>>{[&] { append_events(producer, 0, 10, 1); }, [&] { producer.finish(); }}) {
        auto const said = message_of(work);
        EXPECT_NE(said.find("took this process for dead"), std::string::npos) << said;
    }
    writer->abandon();
}

TEST(Producer, AListMayBeLargerThanItsMemory) {
    auto options = small_run_options();
    MemoryRun run(options);
    auto producer = run.writer->producer("events");
    std::vector<std::uint16_t> const hits(100'000, 7);
    std::uint8_t const who = 0;
    std::uint64_t const id = 0, length = hits.size();
    std::vector<std::uint16_t> const waveform(64);
    std::span<std::byte const> const columns[] = {std::as_bytes(std::span(&who, 1)), std::as_bytes(std::span(&id, 1)),
                                                  std::as_bytes(std::span(waveform)),
                                                  std::as_bytes(std::span(&length, 1)), std::as_bytes(std::span(hits))};
    producer.append(1, columns);
    producer.finish();
    EXPECT_EQ(run.writer->close(kTimeoutNs).report.tables[0].rows, 1u);
    auto const map = format::hdf5::files::hdf5_format().load(*run.file);
    EXPECT_EQ(column_of<std::uint16_t>(map, 4, *run.file), hits);
}

// Ctrl-C in Python: the callback throws, and the caller may well go on.
TEST(Producer, AnInterruptedAppendCanBeContinued) {
    for (unsigned const threads : {0u, 2u}) {
        auto options = small_run_options();
        options.write.extent_bytes = 1 << 20; // larger than the staging: each append that fills it has to wait
        options.write.seal_threads = threads;
        int calls = 0, interrupts = 0;
        options.nodes.while_waiting = [&] {
            if (++calls % 3 == 0) throw std::runtime_error("interrupted");
        };
        MemoryRun run(options);
        auto producer = run.writer->producer("events");
        while (producer.rows() < 2000) {
            try {
                append_events(producer, 0, producer.rows(), std::min<std::uint64_t>(50, 2000 - producer.rows()));
            } catch (std::runtime_error const&) {
                ++interrupts;
            }
        }
        producer.finish();
        EXPECT_GT(interrupts, 0);
        EXPECT_EQ(run.close(), (RowCounts{{0, 2000}}));
    }
}

TEST(Producer, AfterAFailedWriteEveryCallFailsAndNothingPublishedIsLost) {
    for (unsigned const threads : {0u, 2u}) {
        auto options = small_run_options();
        options.write.seal_threads = threads;
        storage::FaultPlan plan;
        plan.fail_write = 5;
        MemoryRun run(options, plan);
        auto producer = run.writer->producer("events");
        auto const append = [&] {
            for (int i = 0; i < 1000; ++i) append_events(producer, 0, producer.rows(), 7);
        };
        EXPECT_THROW(append(), base::SystemError);
        auto const published = producer.rows();
        EXPECT_ANY_THROW(append());
        EXPECT_ANY_THROW(append());
        EXPECT_THROW(producer.finish(), base::SystemError);
        EXPECT_EQ(run.close(), (RowCounts{{0, published}}));
    }
}

// The rows of a failed batch may be whole: here it ends with a page, whose write fails. They may have been seen by
// then, so the producer counts them.
TEST(Producer, AfterAFailedWriteTheFileHasTheRowsThatTheProducerCounts) {
    std::uint64_t rows_of_failed = 0;
    for (std::uint64_t write = 1; write <= 12; ++write) {
        auto options = small_run_options();
        options.commit.interim_footer_share = 0; // whose writes are not the producer's
        storage::FaultPlan plan;
        plan.fail_write = write;
        auto const faults = std::make_shared<storage::Faults>(plan);
        auto const file = std::make_shared<storage::FaultyStorage>(storage::make_memory_storage("run.h5"), faults);
        model::Schema const schema{{{"numbers", {scalar("number", model::Scalar::uint64)}, ""}}};
        auto const writer =
            Writer::create_on(file, storage::make_memory_storage("run.h5.journal"), format::hdf5::files::hdf5_format(),
                              model::make_run_head(schema, options.layout, {}), options);
        auto producer = writer->producer("numbers");
        std::uint64_t returned = 0;
        auto const append_one_by_one = [&] {
            for (std::uint64_t number = 0; number < 100'000; ++number) {
                std::span<std::byte const> const columns[] = {std::as_bytes(std::span(&number, 1))};
                producer.append(1, columns);
                ++returned;
            }
        };
        EXPECT_THROW(append_one_by_one(), base::SystemError);
        auto const counted = producer.rows();
        rows_of_failed += counted - returned;
        EXPECT_ANY_THROW(producer.finish());
        EXPECT_EQ(writer->close(kTimeoutNs).report.tables[0].rows, counted) << "write " << write;
    }
    EXPECT_GT(rows_of_failed, 0u);
}

TEST(Producer, OneThatCannotStartDoesNotKeepTheRunOpen) {
    Directory const directory;
    auto options = small_run_options();
    options.shared = true;
    options.write.staging.min_buffers = 1ull << 32; // of each column: more than any machine has
    options.layout.wide_page_bytes = 1 << 20;
    auto const writer = Writer::create(directory.file("run.h5"), pulses(100'000), options);
    EXPECT_THROW(writer->producer("pulses"), base::SystemError);
    EXPECT_EQ(writer->close(kTimeoutNs).report.tables[0].rows, 0u);
}

TEST(Producer, AForkedChildLeavesItsParentsRunAlone) {
    Directory const directory;
    auto options = small_run_options();
    options.shared = true;
    options.write.seal_threads = 2;
    auto writer = Writer::create(directory.file("run.h5"), events(), options);
    auto producer = std::make_unique<Producer>(writer->producer("events"));
    append_events(*producer, 0, 0, 77);
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(20); // instead of hanging
        int wrong = 0;
        try {
            append_events(*producer, 0, 77, 1);
            ++wrong;
        } catch (base::UsageError const& error) {
            wrong += std::string(error.what()).find("inherited through fork") == std::string::npos;
        }
        producer.reset();
        writer.reset();
        ::_exit(wrong);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    append_events(*producer, 0, 77, 23);
    producer->finish();
    EXPECT_EQ(writer->close(kTimeoutNs).report.tables[0].rows, 100u);
    EXPECT_EQ(expect_right(*storage::open_file_storage(directory.file("run.h5"), storage::OpenMode::read_only)),
              (RowCounts{{0, 100}}));
}

} // namespace
} // namespace thalweg::dataset
