// Runs that were copied, moved, never begun, or written by another version: nothing of them is taken for another's, for
// complete, or for gone.
#include "thalweg/dataset/run/run_place.h"

#include <fmt/format.h>
#include <fstream>
#include <thread>

#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/snapshot.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kRowsInPlace = 500;

CreateOptions shared_options() {
    auto options = small_run_options();
    options.shared = true;
    return options;
}

RowCounts rows_in(std::string const& path) {
    return expect_right(*storage::open_file_storage(path, storage::OpenMode::read_only));
}

// A run of which all processes died, with rows that are in memory alone. Returns its ledger.
std::string leave_unfinished(std::string const& path) {
    auto options = shared_options();
    options.commit.flush_interval_ns = 3600'000'000'000;
    auto writer = Writer::create(path, events(), options);
    auto const ledger = writer->handle();
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, kRowsInPlace);
    writer->abandon();
    return ledger;
}

void copy_run(std::string const& from, std::string const& to) {
    std::filesystem::copy_file(journal_path(from), journal_path(to));
    for (auto const number : segments_beside(journal_path(from))->list()) {
        auto const name = "." + std::to_string(number);
        std::filesystem::copy_file(journal_path(from) + name, journal_path(to) + name);
    }
}

void wait_for_barriers(Writer const& writer, std::uint64_t pages) {
    while (writer.status().pages < pages || writer.status().producers[0].durable_items.empty() ||
           writer.status().producers[0].durable_items[1] < kRowsInPlace)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(RunPlace, AJournalOfAnotherVersionIsNotGone) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    leave_unfinished(path);
    auto const journal = storage::open_file_storage(journal_path(path), storage::OpenMode::read_write);
    auto const write_version = [&](char const* version) {
        for (auto const offset : kPreambleOffsets) journal->write(offset + 6, std::as_bytes(std::span(version, 2)));
    };
    write_version("02");
    for (auto const& work : std::vector<std::function<void()>>{[&] { recover(path); }, [&] { Reader::open(path); }}) {
        auto const said = message_of(work);
        EXPECT_NE(said.find("version 02"), std::string::npos) << said;
        EXPECT_NE(said.find("version 05"), std::string::npos) << said;
    }
    EXPECT_NE(message_of([&] { Writer::create(path, events(), {}); }), "");
    write_version("05");
    EXPECT_EQ(recover(path).report.tables[0].rows, kRowsInPlace);
}

TEST(RunPlace, ALedgerOfAnotherVersionIsNotGone) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const ledger = Ledger::attach(leave_unfinished(path));
    auto const version = ledger->head().version;
    ledger->head().version = version + 90;
    auto const said = message_of([&] { recover(path); });
    EXPECT_NE(said.find(fmt::format("Thalweg: {}", version + 90)), std::string::npos) << said;
    EXPECT_NE(said.find(fmt::format("is {}", version)), std::string::npos) << said;
    ledger->head().version = version;
    EXPECT_EQ(recover(path).report.tables[0].rows, kRowsInPlace);
}

TEST(RunPlace, AJournalSaysWhichNodeOfHowManyWroteIt) {
    auto const file = std::shared_ptr(storage::make_memory_storage("journal"));
    auto const head = format::hdf5::files::hdf5_format().make_head(events(), {}, {});
    JournalWriter::begin(file, model::to_json(head), {}, {}, {.node = 2, .nodes = 5});
    EXPECT_EQ(node_of(require_start(*file).preamble), (NodeOfRun{2, 5}));
    Directory const directory;
    auto const path = directory.file("run.h5");
    leave_unfinished(path);
    auto const journal = RunPlace(path).open_journal(storage::OpenMode::read_only);
    EXPECT_EQ(node_of(require_start(*journal.main).preamble), (NodeOfRun{0, 1}));
    EXPECT_EQ(recover(path).report.tables[0].rows, kRowsInPlace);
}

// Memory that is left over makes sense only with the journal of its own run: another one says nothing about it.
TEST(RunPlace, AJournalOfAnotherRunProvesNothing) {
    Directory const directory;
    RunPlace const place(directory.file("run.h5"));
    EXPECT_FALSE(place.may_be_of("anything"));
    leave_unfinished(place.data());
    auto const id = place.run_id().value();
    EXPECT_TRUE(place.may_be_of(id));
    EXPECT_FALSE(place.may_be_of("another"));
    place.open_journal(storage::OpenMode::read_write).main->write(0, std::vector<std::byte>(8192));
    EXPECT_TRUE(place.may_be_of("another"));
}

TEST(RunPlace, AMovedRunIsRecoveredWholly) {
    Directory const directory;
    auto const path = directory.file("run.h5"), moved = directory.file("moved.h5");
    auto const ledger = leave_unfinished(path);
    copy_run(path, moved);
    std::filesystem::rename(path, moved);
    EXPECT_EQ(recover(moved).report.tables[0].rows, kRowsInPlace);
    EXPECT_TRUE(base::SharedMemory::list(ledger).empty());
}

// A process that attached would write into a copy, or into a file of another program: it would never be read.
TEST(RunPlace, NoProcessAttachesToAnotherFileOfThatName) {
    Directory const directory;
    auto const path = directory.file("run.h5"), away = directory.file("away.h5");
    auto const writer = Writer::create(path, events(), shared_options());
    std::filesystem::rename(path, away);
    auto const refusal = [&] { return message_of([&] { attach(writer->handle()); }); };
    EXPECT_NE(refusal(), "") << "there is none";
    std::filesystem::copy_file(away, path);
    EXPECT_EQ(refusal(), "cannot attach to " + path + " (the file there is not the one that is being recorded): put " +
                             "that one back, under its name");
    std::filesystem::rename(away, path);
    std::filesystem::create_hard_link(path, away);
    auto const run = attach(writer->handle());
    Producer producer(run, 0);
    append_events(producer, 0, 0, kRowsInPlace);
    producer.finish();
    writer->close(kTimeoutNs);
    EXPECT_EQ(rows_in(path)[0], kRowsInPlace);
}

TEST(RunPlace, RecoveringACopyOfALiveRunLeavesItAlone) {
    Directory const directory;
    auto const path = directory.file("run.h5"), copy = directory.file("copy.h5"), same = directory.file("same.h5");
    auto const writer = Writer::create(path, events(), shared_options());
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, kRowsInPlace);
    wait_for_barriers(*writer, 10);
    copy_run(path, copy);
    std::filesystem::copy_file(path, copy);
    auto const result = recover(copy);
    EXPECT_GE(rows_in(copy)[0], kRowsInPlace / 2);
    EXPECT_EQ(result.report.damaged_pages, 0u);
    EXPECT_NE(fmt::format("{}", fmt::join(result.report.notes, "\n")).find("it is a copy"), std::string::npos);
    // The same file under another name, with a journal whose lock is free: it is being written all the same.
    copy_run(path, same);
    std::filesystem::create_hard_link(path, same);
    auto const said = message_of([&] { recover(same); });
    EXPECT_NE(said.find("still writing"), std::string::npos) << said;
    append_events(producer, 0, kRowsInPlace, 100);
    producer.finish();
    EXPECT_EQ(writer->close(kTimeoutNs).report.tables[0].rows, kRowsInPlace + 100);
    EXPECT_EQ(rows_in(path), (RowCounts{{0, kRowsInPlace + 100}}));
}

// The file was copied first: its journal knows of pages that were written after that.
TEST(RunPlace, ACopyWhoseJournalIsNewerIsNotComplete) {
    Directory const directory;
    auto const path = directory.file("run.h5"), copy = directory.file("copy.h5");
    auto const writer = Writer::create(path, events(), shared_options());
    std::filesystem::copy_file(path, copy); // as long as it will be, and empty
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, kRowsInPlace);
    wait_for_barriers(*writer, 10);
    copy_run(path, copy);
    auto const report = recover(copy).report;
    EXPECT_GT(report.damaged_pages, 0u);
    EXPECT_GT(report.tables[0].lost_rows, 0u);
    auto const there = rows_in(copy);
    EXPECT_LT(there.contains(0) ? there.at(0) : 0, kRowsInPlace);
    producer.finish();
    writer->close(kTimeoutNs);
}

// Copied so early that the header of its table was not there yet, although the BARRIERs of its journal say that it is.
TEST(RunPlace, ACopyThatIsOlderThanItsBeginningIsGivenOne) {
    Directory const directory;
    auto const path = directory.file("run.root"), copy = directory.file("copy.root");
    auto options = shared_options();
    options.layout.wide_codec = options.layout.narrow_codec = "zstd-1";
    auto const writer = Writer::create(path, events(), options);
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, kRowsInPlace);
    wait_for_barriers(*writer, 10);
    writer->abandon(); // a copy of what goes on may miss rows that moved into pages meanwhile
    copy_run(path, copy);
    std::filesystem::copy_file(path, copy);
    std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1536);
    file.write(std::string(512, '\0').data(), 512);
    file.close();
    EXPECT_EQ(recover(copy).report.damaged_pages, 0u);
    EXPECT_EQ(rows_in(copy)[0], kRowsInPlace);
    EXPECT_EQ(verify(copy).faults, 0u);
}

TEST(RunPlace, WhatADeadCreationLeftIsClearedByRecoverAndByTheNextOne) {
    std::vector<std::byte> whole;
    {
        Directory const directory;
        leave_unfinished(directory.file("run.h5"));
        auto const journal = storage::open_file_storage(directory.file("run.h5.journal"), storage::OpenMode::read_only);
        whole.resize(read_start(*journal).preamble.records);
        journal->read(0, whole);
        recover(directory.file("run.h5"));
    }
    for (std::size_t const size : {std::size_t{0}, std::size_t{100}, std::size_t{4200}, whole.size() - 9}) {
        for (bool const has_file : {false, true}) {
            for (bool const by_recover : {false, true}) {
                SCOPED_TRACE(fmt::format("{} {} {}", size, has_file, by_recover));
                Directory const directory;
                auto const path = directory.file("run.h5");
                auto const journal = storage::open_file_storage(journal_path(path), storage::OpenMode::create_new);
                auto bytes = std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
                if (size > 9000) std::fill_n(bytes.begin() + 8192, 10, std::byte{0}); // both heads are not whole
                journal->write(0, bytes);
                if (has_file) {
                    auto const file = storage::open_file_storage(path, storage::OpenMode::create_new);
                    if (size > 0) format::hdf5::files::hdf5_format().begin(*file, hdf5_container().head());
                }
                if (by_recover) {
                    auto const said = message_of([&] { recover(path); });
                    EXPECT_NE(said.find("died before anything was recorded"), std::string::npos) << said;
                    EXPECT_FALSE(std::filesystem::exists(path));
                    EXPECT_FALSE(std::filesystem::exists(journal_path(path)));
                }
                Writer::create(path, events(), shared_options())->close(kTimeoutNs);
                EXPECT_EQ(rows_in(path), RowCounts{});
            }
        }
    }
}

// A run as a power cut leaves it in front of the first flush: its journal has pages and no BARRIER.
void leave_without_barrier(std::string const& path) {
    auto options = shared_options();
    options.commit.flush_interval_ns = 3600'000'000'000;
    options.layout.wide_codec = options.layout.narrow_codec = "lz4"; // which both containers know
    auto const writer = Writer::create(path, events(), options);
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, 8 * kRowsInPlace);
    // Every column has pages then, and not only the widest.
    while (writer->status().pages < 100) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto const journal = bytes_of(journal_path(path));
    writer->abandon();
    storage::open_file_storage(journal_path(path), storage::OpenMode::read_write)->resize(journal.size());
    overwrite(journal_path(path), 0, journal);
    base::SharedMemory::unlink(writer->handle());
}

class BeginningOfARun : public ::testing::TestWithParam<char const*> {};

TEST_P(BeginningOfARun, ThatAPowerCutTookIsWrittenAgain) {
    std::vector<std::byte> const zeros(base::kBlockBytes);
    // All; the first sector; from within the mark of an HDF5 file on.
    for (auto const& [offset, size] :
         std::vector<std::pair<std::size_t, std::size_t>>{{0, 4096}, {0, 512}, {2065, 512}}) {
        SCOPED_TRACE(fmt::format("{} bytes at {}", size, offset));
        Directory const directory;
        auto const path = directory.file(GetParam());
        leave_without_barrier(path);
        overwrite(path, offset, std::span(zeros).first(size));
        EXPECT_GT(recover(path).report.tables[0].rows, 0u);
        EXPECT_GT(rows_in(path)[0], 0u);
    }
}

// All its pages are voided in the journal, by their offsets: none that is written later may lie there.
TEST_P(BeginningOfARun, IsAllThatIsLeftOfItAndItIsResumed) {
    Directory const directory;
    auto const path = directory.file(GetParam());
    leave_without_barrier(path);
    auto const journal = storage::open_file_storage(journal_path(path), storage::OpenMode::read_only);
    auto const first = format_for(path).begin(*storage::make_memory_storage(path), read_head(*journal));
    overwrite(path, first, std::vector<std::byte>(bytes_of(path).size() - first));
    auto const writer = Writer::resume(path, {}, {});
    auto producer = writer->producer("events");
    append_events(producer, 1, 0, kRowsInPlace);
    producer.finish();
    writer->close(kTimeoutNs);
    EXPECT_EQ(rows_in(path)[1], kRowsInPlace);
}

// As where the run's file was removed, and its inode was given to the next one.
TEST_P(BeginningOfARun, IsNotWrittenOverAFileOfAnotherProgram) {
    Directory const directory;
    auto const path = directory.file(GetParam());
    leave_without_barrier(path);
    std::string const text(10'000, 'x');
    overwrite(path, 0, std::as_bytes(std::span(text)));
    auto const before = bytes_of(path);
    auto const said = message_of([&] { recover(path); });
    EXPECT_NE(said.find("do not belong together"), std::string::npos) << said;
    EXPECT_EQ(bytes_of(path), before);
}

// The journal of this run was copied when the run was created, and the file later.
TEST_P(BeginningOfARun, IsNotWhatAFileWithPagesIsTakenFor) {
    Directory const directory;
    auto const path = directory.file(GetParam());
    leave_without_barrier(path);
    storage::open_file_storage(journal_path(path), storage::OpenMode::read_write)->resize(100);
    auto const before = bytes_of(path);
    auto const said = message_of([&] { recover(path); });
    EXPECT_NE(said.find("its beginning is not whole"), std::string::npos) << said;
    EXPECT_EQ(bytes_of(path), before);
    // Whatever reads it says the same.
    EXPECT_NE(message_of([&] { Reader::open(path); }).find("its beginning is not whole"), std::string::npos);
    auto const out = directory.file(std::string("out-") + GetParam());
    EXPECT_NE(message_of([&] { snapshot(path, out); }).find("its beginning is not whole"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, BeginningOfARun, ::testing::Values("run.h5", "run.root"),
                         [](auto const& each) { return std::string(each.param).substr(4); });

TEST(RunPlace, AStubBesideAFileOfAnotherProgramTakesNothingWithIt) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    Writer::create(path, events(), shared_options())->close(kTimeoutNs);
    storage::open_file_storage(journal_path(path), storage::OpenMode::create_new);
    EXPECT_NE(message_of([&] { recover(path); }), "");
    EXPECT_NE(message_of([&] { Writer::create(path, events(), shared_options()); }), "");
    EXPECT_EQ(rows_in(path), RowCounts{});
}

} // namespace
} // namespace thalweg::dataset
