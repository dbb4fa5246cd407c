// Batches whose whole pages are encoded from the caller's memory.
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kSamples = 64; // four rows are a page of waveforms

CreateOptions batch_options() {
    auto options = small_run_options();
    options.write.unbuffered_bytes = 2 << 10;
    return options;
}

void append(Producer& producer, std::uint64_t rows, std::uint8_t who = 0) {
    PulseRows(who, producer.rows(), rows, kSamples).append_to(producer);
}

// Returns how many rows the file has. Each is what its producer wrote, and those of a producer are in their order.
std::uint64_t right_rows(storage::Storage const& file) {
    auto const map = format::hdf5::files::hdf5_format().load(file);
    auto const producers = column_of<std::uint8_t>(map, 0, file);
    auto const ids = column_of<std::uint64_t>(map, 1, file);
    auto const waveforms = column_of<std::uint16_t>(map, 2, file);
    EXPECT_EQ(producers.size(), ids.size());
    EXPECT_EQ(waveforms.size(), ids.size() * kSamples);
    std::map<std::uint8_t, std::uint64_t> next;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        EXPECT_EQ(ids[i], next[producers[i]]++) << "row " << i;
        auto const expected = PulseRows(producers[i], ids[i], 1, kSamples).waveforms;
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), waveforms.data() + i * kSamples)) << "row " << i;
    }
    return ids.size();
}

std::uint64_t right_rows_of(std::string const& path) {
    return right_rows(*storage::open_file_storage(path, storage::OpenMode::read_only));
}

// A run in memory, of a disk that may have bad days.
struct BatchRun {
    explicit BatchRun(CreateOptions const& options, storage::FaultPlan const& plan = {})
        : faults(std::make_shared<storage::Faults>(plan)),
          file(std::make_shared<storage::FaultyStorage>(storage::make_memory_storage("run.h5"), faults)),
          writer(Writer::create_on(file, storage::make_memory_storage("run.h5.journal"),
                                   format::hdf5::files::hdf5_format(),
                                   model::make_run_head(pulses(kSamples), options.layout, {}), options)) {}

    std::uint64_t close() {
        writer->close(kTimeoutNs);
        return right_rows(*file);
    }

    std::shared_ptr<storage::Faults> faults;
    std::shared_ptr<storage::FaultyStorage> file;
    std::unique_ptr<Writer> writer;
};

class Batches : public ::testing::TestWithParam<char const*> {
  protected:
    static CreateOptions options() {
        auto options = batch_options();
        options.layout.wide_codec = options.layout.narrow_codec = GetParam();
        return options;
    }
};

TEST_P(Batches, HaveTheirWholePagesInTheFileWhenTheyAreTaken) {
    BatchRun run(options());
    auto producer = run.writer->producer("pulses");
    append(producer, 100);
    auto const& waveforms = producer.staging().column(2);
    EXPECT_EQ(waveforms.released.load(), 100 / waveforms.page_items * waveforms.page_items);
    EXPECT_EQ(waveforms.published.load(), 100u);
    producer.finish();
    EXPECT_EQ(run.close(), 100u);
}

TEST_P(Batches, OfAnySizeAreTheSameRows) {
    BatchRun run(options());
    std::uint64_t expected = 0;
    for (std::uint8_t who = 0; who < 3; ++who) {
        auto producer = run.writer->producer("pulses");
        for (std::uint64_t rows = 1; rows < 700; rows = rows * 3 + who) append(producer, rows, who);
        append(producer, 3, who); // behind whole pages
        expected += producer.rows();
        producer.finish();
    }
    EXPECT_EQ(run.close(), expected);
}

TEST_P(Batches, GoOnOnceAFullDiskHasRoom) {
    storage::FaultPlan plan;
    plan.space_bytes = 12 << 20;
    auto options = this->options();
    options.write.staging.memory_bytes = 256 << 10;
    BatchRun run(options, plan);
    auto producer = run.writer->producer("pulses");
    auto const append_up_to = [&](std::uint64_t end) {
        return message_of([&] {
            while (producer.rows() < end) append(producer, std::min<std::uint64_t>(5000, end - producer.rows()));
        });
    };
    EXPECT_NE(append_up_to(1'000'000).find("takes no more rows at present"), std::string::npos);
    auto const taken = producer.rows();
    EXPECT_GT(taken, 10'000u);
    EXPECT_NE(append_up_to(1'000'000), "") << "the disk is still full";
    EXPECT_EQ(producer.rows(), taken);
    run.faults->set_space(1u << 30);
    for (int i = 0; i < 1000 && !append_up_to(taken + 20'000).empty(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(producer.rows(), taken + 20'000);
    producer.finish();
    EXPECT_EQ(run.close(), taken + 20'000);
}

TEST_P(Batches, ThatAreInterruptedSayWhatIsTaken) {
    auto options = this->options();
    int calls = 0, interrupts = 0;
    options.nodes.while_waiting = [&] {
        if (++calls % 3 == 0) throw std::runtime_error("interrupted");
    };
    BatchRun run(options);
    auto producer = run.writer->producer("pulses");
    while (producer.rows() < 6000) {
        try {
            append(producer, 333);
        } catch (std::runtime_error const&) {
            ++interrupts;
        }
    }
    auto const rows = producer.rows();
    producer.finish();
    EXPECT_GT(interrupts, 0);
    EXPECT_EQ(run.close(), rows);
}

TEST_P(Batches, AreNotTakenAfterAFailedWrite) {
    storage::FaultPlan plan;
    plan.fail_write = 7;
    BatchRun run(options(), plan);
    auto producer = run.writer->producer("pulses");
    auto const append_many = [&] {
        for (int i = 0; i < 100; ++i) append(producer, 500);
    };
    EXPECT_THROW(append_many(), base::SystemError);
    auto const taken = producer.rows();
    EXPECT_ANY_THROW(append_many());
    EXPECT_EQ(producer.rows(), taken);
    EXPECT_THROW(producer.finish(), base::SystemError);
    EXPECT_EQ(run.close(), taken);
}

// The child is killed behind an append, in the middle of one when some of its pages are announced, or at any time.
TEST_P(Batches, SurviveTheirProcess) {
    enum class End { behind_append, in_append, any_time };
    Directory const directory;
    for (int round = 0; round < 12; ++round) {
        auto const end = static_cast<End>(round % 3);
        auto const path = directory.file("run" + std::to_string(round) + ".h5");
        int handle_pipe[2], taken_pipe[2];
        ASSERT_EQ(::pipe(handle_pipe), 0);
        ASSERT_EQ(::pipe(taken_pipe), 0);
        auto const child = ::fork(); // while there are no threads
        if (child == 0) {
            char name[64] = {};
            if (::read(handle_pipe[0], name, sizeof name - 1) <= 0) ::_exit(1);
            bool dies = false;
            Producer producer(attach(name, {},
                                     [&] {
                                         if (dies) ::raise(SIGKILL);
                                     }),
                              0);
            for (int i = 0; end == End::any_time || i < 4 + round; ++i) {
                dies = end == End::in_append && i == 3 + round;
                append(producer, 211);
                auto const rows = producer.rows();
                static_cast<void>(!::write(taken_pipe[1], &rows, sizeof rows));
            }
            ::raise(SIGKILL);
        }
        ::close(taken_pipe[1]);
        auto options = this->options();
        options.shared = true;
        auto writer = Writer::create(path, pulses(kSamples), options);
        auto const handle = writer->handle();
        ASSERT_GT(::write(handle_pipe[1], handle.data(), handle.size()), 0);
        std::uint64_t taken = 0, more = 0;
        ASSERT_EQ(::read(taken_pipe[0], &taken, sizeof taken), sizeof taken);
        if (end == End::any_time) {
            std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
            ::kill(child, SIGKILL);
        }
        ::waitpid(child, nullptr, 0);
        while (::read(taken_pipe[0], &more, sizeof more) == sizeof more) taken = more;
        for (auto const each : {handle_pipe[0], handle_pipe[1], taken_pipe[0]}) ::close(each);
        bool const recovers = round % 2 == 0;
        if (recovers) writer->abandon();
        auto const report = recovers ? (writer.reset(), recover(path).report) : writer->close(kTimeoutNs).report;
        EXPECT_EQ(report.tables[0].lost_rows, 0u);
        auto const rows = right_rows_of(path);
        EXPECT_EQ(rows, report.tables[0].rows);
        EXPECT_GE(rows, taken) << "round " << round;
        EXPECT_LE(rows, taken + 211) << "round " << round;
    }
}

// Its pages that were announced are rows for every reader of the open run, whether `append` had returned or not.
TEST_P(Batches, KeepWhatReadersHaveCountedWhenTheirProcessDies) {
    Directory const directory;
    int handle_pipe[2];
    ASSERT_EQ(::pipe(handle_pipe), 0);
    auto const child = ::fork(); // while there are no threads
    if (child == 0) {
        char name[64] = {};
        if (::read(handle_pipe[0], name, sizeof name - 1) <= 0) ::_exit(1);
        std::vector<std::uint16_t> const items(kSamples * 4000, 7);
        std::span<std::byte const> const column[] = {std::as_bytes(std::span(items))};
        Staging const* staging = nullptr;
        Producer producer(attach(name, {},
                                 [&] {
                                     if (staging->column(0).released.load() > 0) ::raise(SIGKILL);
                                 }),
                          0);
        staging = &producer.staging();
        while (true) producer.append(4000, column);
    }
    auto options = this->options();
    options.shared = true;
    auto const path = directory.file("run.h5");
    model::Schema const schema{{{"waveforms", {scalar("samples", model::Scalar::uint16, {kSamples})}, ""}}};
    auto writer = Writer::create(path, schema, options);
    auto const handle = writer->handle();
    ASSERT_GT(::write(handle_pipe[1], handle.data(), handle.size()), 0);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    for (auto const each : handle_pipe) ::close(each);
    auto const report = writer->close(kTimeoutNs).report;
    EXPECT_GT(report.tables[0].rows, 0u);
    EXPECT_EQ(report.tables[0].lost_rows, 0u);
}

INSTANTIATE_TEST_SUITE_P(Codecs, Batches, ::testing::Values("none", "bitshuffle+lz4"),
                         [](auto const& each) { return std::string(each.param) == "none" ? "raw" : "encoded"; });

} // namespace
} // namespace thalweg::dataset
