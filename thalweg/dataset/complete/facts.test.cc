#include "thalweg/dataset/complete/facts.h"

#include <cerrno>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/file_checksum.h"
#include "thalweg/dataset/read/live_map.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;
using storage::Storage;

std::shared_ptr<Storage> copy_of(Storage const& from) {
    std::shared_ptr<Storage> to = storage::make_memory_storage(from.path());
    storage::copy_storage(from, *to);
    return to;
}

// A run of two producers as it lies there before its first BARRIER.
struct Unproved {
    static constexpr std::uint64_t kRows = 1000;
    Unproved() {
        auto options = small_run_options();
        options.commit.flush_interval_ns = 3600'000'000'000;
        std::shared_ptr<Storage> const live_file = storage::make_memory_storage("run.h5");
        std::shared_ptr<Storage> const live_journal = storage::make_memory_storage("run.h5.journal");
        auto const head = model::make_run_head(events(), options.layout, {});
        auto const writer =
            Writer::create_on(live_file, live_journal, format::hdf5::files::hdf5_format(), head, options);
        for (std::uint8_t who = 0; who < 2; ++who) {
            auto producer = writer->producer("events");
            append_events(producer, who, 0, kRows);
            producer.finish();
        }
        while (true) { // until both are settled
            if (writer->status().ended[0].producers == 2) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        file = copy_of(*live_file);
        journal = copy_of(*live_journal);
    }
    std::shared_ptr<Storage> file, journal;
};

TEST(Facts, ABadPageCostsItsBlockOfAllColumnsAndThatIsSaid) {
    Unproved const run;
    auto const sound = gather(run.journal, *run.file, RunState::ended);
    auto const block_rows = sound.head.layouts[0].block_rows;
    ASSERT_LT(block_rows * 2, Unproved::kRows);
    auto const& part = sound.facts.tables[0][0];
    for (std::size_t column = 0; column < 3; ++column) {
        auto const& pages = part.columns[column];
        for (std::size_t i = 0; i < pages.size(); i += 1 + pages.size() / 5) {
            SCOPED_TRACE(fmt::format("column {}, page {}", column, i));
            if (pages[i].place == model::Page::Place::journal) continue;
            auto const file = copy_of(*run.file);
            std::byte byte;
            auto const at = pages[i].offset + pages[i].stored_bytes / 2;
            file->read(at, {&byte, 1});
            byte ^= std::byte{16};
            file->write(at, {&byte, 1});
            auto const result = complete_run(*file, copy_of(*run.journal), format::hdf5::files::hdf5_format(), {});
            auto const block = pages[i].first / block_rows;
            auto const lost = std::min(Unproved::kRows, (block + 1) * block_rows) - block * block_rows;
            EXPECT_EQ(result.report.damaged_pages, 1u);
            // The rows of the last block before the page stay.
            EXPECT_LE(result.report.tables[0].lost_rows, lost);
            EXPECT_GE(result.report.tables[0].lost_rows, 1u);
            ASSERT_FALSE(result.report.notes.empty());
            EXPECT_NE(
                result.report.notes[0].find(fmt::format("offset {} is not what its checksum says", pages[i].offset)),
                std::string::npos);
            auto const rows = expect_right(*file);
            EXPECT_EQ(rows.at(1), Unproved::kRows);
            EXPECT_EQ(rows.at(0) + result.report.tables[0].lost_rows, Unproved::kRows);
            EXPECT_EQ(file_adler32(*file, {}), result.adler32);
            ASSERT_FALSE(::testing::Test::HasFailure());
        }
    }
}

// A page of lengths is bad: it is not known where later lists begin, so all of that producer from its block on is lost.
TEST(Facts, ABadPageOfLengthsCostsTheListsBehindIt) {
    Unproved const run;
    auto const sound = gather(run.journal, *run.file, RunState::ended);
    auto const& page = sound.facts.tables[0][0].columns[3][5];
    run.file->write(page.offset, std::vector<std::byte>(page.stored_bytes));
    auto const result = complete_run(*run.file, run.journal, format::hdf5::files::hdf5_format(), {});
    auto const rows = expect_right(*run.file);
    EXPECT_EQ(rows.at(0), page.first);
    EXPECT_EQ(rows.at(1), Unproved::kRows);
    EXPECT_EQ(result.report.tables[0].lost_rows, Unproved::kRows - page.first);
}

// A disk with one sector that it cannot read.
class BadSector final : public Storage {
  public:
    BadSector(Storage& inner, std::uint64_t bad_offset) : inner_(inner), bad_offset_(bad_offset) {}

    std::string const& path() const override { return inner_.path(); }
    std::string engine() const override { return inner_.engine(); }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override {
        if (offset <= bad_offset_ && bad_offset_ < offset + bytes.size()) {
            base::fail_system({fmt::format("cannot read {}", path())}, EIO);
        }
        inner_.read(offset, bytes);
    }
    void write(std::uint64_t offset, std::span<std::byte const> bytes) override { inner_.write(offset, bytes); }
    std::uint64_t size() const override { return inner_.size(); }
    void resize(std::uint64_t size_bytes) override { inner_.resize(size_bytes); }
    void reserve(std::uint64_t offset, std::uint64_t bytes) override { inner_.reserve(offset, bytes); }
    void sync() override { inner_.sync(); }
    std::unique_ptr<storage::WriteQueue> write_queue(std::size_t depth) override { return inner_.write_queue(depth); }

  private:
    Storage& inner_;
    std::uint64_t bad_offset_;
};

TEST(Facts, APageThatCannotBeReadCostsItsBlock) {
    Unproved const run;
    auto const sound = gather(run.journal, *run.file, RunState::ended);
    auto const& page = sound.facts.tables[0][0].columns[1][2];
    ASSERT_EQ(page.place, model::Page::Place::file);
    BadSector file(*run.file, page.offset);
    auto const result = complete_run(file, run.journal, format::hdf5::files::hdf5_format(), {});
    EXPECT_EQ(result.adler32, file_adler32(*run.file, {})); // the sector is well again
    EXPECT_EQ(result.report.damaged_pages, 1u);
    ASSERT_FALSE(result.report.notes.empty());
    EXPECT_NE(result.report.notes[0].find(fmt::format("offset {} cannot be read (", page.offset)), std::string::npos)
        << result.report.notes[0];
    auto const lost = result.report.tables[0].lost_rows;
    EXPECT_GE(lost, 1u);
    EXPECT_LE(lost, sound.head.layouts[0].block_rows);
    auto const rows = expect_right(*run.file);
    EXPECT_EQ(rows.at(0), Unproved::kRows - lost);
    EXPECT_EQ(rows.at(1), Unproved::kRows);
}

// Lengths are read even where a BARRIER says that they are on the disk (here: where pages are not checked).
TEST(Facts, LengthsThatCannotBeReadCostTheListsBehindThem) {
    Unproved const run;
    auto const sound = gather(run.journal, *run.file, RunState::ended);
    auto const& page = sound.facts.tables[0][0].columns[3][5];
    ASSERT_EQ(page.place, model::Page::Place::file);
    BadSector file(*run.file, page.offset);
    CompleteOptions options;
    options.state = RunState::closing;
    auto const result = complete_run(file, run.journal, format::hdf5::files::hdf5_format(), options);
    auto const rows = expect_right(*run.file);
    EXPECT_EQ(rows.at(0), page.first);
    EXPECT_EQ(rows.at(1), Unproved::kRows);
    ASSERT_FALSE(result.report.notes.empty());
    EXPECT_NE(result.report.notes[0].find("are left out"), std::string::npos) << result.report.notes[0];
}

TEST(Facts, AFileThatWasCutShortIsNotCompletedWithZeros) {
    Unproved const run;
    run.file->resize(run.file->size() / 64);
    auto const result = complete_run(*run.file, run.journal, format::hdf5::files::hdf5_format(), {});
    EXPECT_GT(result.report.tables[0].lost_rows, 0u);
    EXPECT_GT(result.report.damaged_pages, 0u);
    expect_right(*run.file);
}

TEST(Facts, TheSumOfAFileIsThatOfItsPieces) {
    std::mt19937 random(7);
    std::vector<std::byte> bytes(300'000);
    for (auto& byte : bytes) byte = std::byte(random());
    auto const file = storage::make_memory_storage("run.h5");
    file->write(0, bytes);
    for (int i = 0; i < 200; ++i) {
        std::vector<KnownBytes> known;
        for (std::uint64_t at = random() % 5000; at < bytes.size(); at += random() % 40'000) {
            auto const size = std::min<std::uint64_t>(random() % 30'000, bytes.size() - at);
            known.push_back({at, size, base::adler32(1, std::span(bytes).subspan(at, size))});
            if (random() % 2 == 0) at += size;
        }
        known.push_back({bytes.size() - 3, 50, 4711}); // beyond the end
        std::shuffle(known.begin(), known.end(), random);
        EXPECT_EQ(file_adler32(*file, known), base::adler32(1, bytes));
    }
}

// Bytes that this process has asked the kernel for.
std::uint64_t bytes_read() {
    std::ifstream counts("/proc/self/io");
    std::string name;
    std::uint64_t number = 0;
    while (counts >> name >> number && name != "rchar:") {
    }
    return number;
}

TEST(Facts, TheSumOfAFileDoesNotReadItsHoles) {
    Directory const directory;
    auto const file =
        storage::open_file_storage(directory.file("sparse"), storage::OpenMode::create_new, storage::Engine::posix);
    std::vector<std::byte> bytes(100 * base::kMiB);
    for (auto const offset : {0 * base::kMiB, 70 * base::kMiB, 100 * base::kMiB - 4096}) {
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), 4096, std::byte{0x5a});
        file->write(offset, std::span(bytes).subspan(offset, 4096));
    }
    auto const whole = base::adler32(1, bytes);
    auto const before = bytes_read();
    EXPECT_EQ(file_adler32(*file, {}), whole);
    if (file->hole_at(4 * base::kMiB) == 0) GTEST_SKIP() << "this file system does not tell of holes";
    EXPECT_LT(bytes_read() - before, 10 * base::kMiB);
    file->resize(120 * base::kMiB); // a hole at the end, too
    bytes.resize(120 * base::kMiB);
    EXPECT_EQ(file_adler32(*file, {}), base::adler32(1, bytes));
}

// A process was killed within an append: it had announced pages of whole rows, and not come to counting the rows.
// Readers of the open run have seen them by then.
TEST(Facts, WholeRowsBehindThoseThatADeadProducerCountedAreThere) {
    auto const head = model::make_run_head(pulses(2), {}, {});
    std::shared_ptr<Storage> const storage = storage::make_memory_storage("run.h5.journal");
    auto journal = JournalWriter::begin(storage, model::to_json(head));
    journal.append(RecordType::producer, ProducerRecord{0, 0, 1, 0});
    for (std::uint32_t column = 0; column < head.columns[0].size(); ++column) {
        auto const items = 14 + column;
        std::vector<std::byte> const bytes(items * head.columns[0][column].item_bytes());
        journal.append(RecordType::rows, RowsRecord{0, column, 0, items}, bytes);
    }
    journal.append_json(RecordType::metadata, "{}"); // so that the rows are written
    auto const file = storage::make_memory_storage("run.h5");
    auto const rows = [&](RunState state) { return gather(storage, *file, state).report.tables[0].rows; };
    EXPECT_EQ(rows(RunState::open), 14u);
    journal.append(RecordType::finish, FinishRecord{0, 1, 11});
    journal.append(RecordType::settled, {});
    EXPECT_EQ(rows(RunState::ended), 14u);
    EXPECT_EQ(gather(storage, *file, RunState::ended).report.tables[0].lost_rows, 0u);
}

// 2^32 rows and more, of one byte each, that are never written: all pages lie in the same place.
TEST(Facts, RowsMayBeMoreThanFitIn32Bits) {
    model::Schema const schema{{{"flags", {scalar("set", model::Scalar::boolean)}, ""}}};
    auto const head = model::make_run_head(schema, {}, {});
    std::shared_ptr<Storage> const storage = storage::make_memory_storage("run.h5.journal");
    auto journal = JournalWriter::begin(storage, model::to_json(head));
    auto const count = head.layouts[0].columns[0].page_items;
    auto const rows = (std::uint64_t{1} << 32) + 5 * count + 3;
    for (std::uint32_t who = 0; who < 2; ++who) {
        journal.append(RecordType::producer, ProducerRecord{who, 0, 1, 0});
        std::vector<PageRecord> pages;
        for (std::uint64_t first = 0; first < rows; first += count) {
            auto const items = static_cast<std::uint32_t>(std::min(count, rows - first));
            pages.push_back({who, 0, first, items, 0, 4096, items, items, 0, 1, 0});
        }
        journal.append(RecordType::pages, std::as_bytes(std::span(pages)));
        journal.append(RecordType::finish, FinishRecord{who, 0, rows});
    }
    auto const file = storage::make_memory_storage("run.h5");
    file->resize(4096 + count);
    auto const gathered = gather(storage, *file, RunState::open);
    EXPECT_EQ(gathered.report.tables[0].rows, 2 * rows);
    EXPECT_EQ(gathered.report.tables[0].lost_rows, 0u);
    auto const map = live_map(gathered, *file, *gathered.rows);
    EXPECT_EQ(map.tables[0].rows, 2 * rows);
    auto const last = model::slice(map.tables[0].columns[0].pages, 2 * rows - 2, 2);
    EXPECT_EQ(last.back().first + last.back().count, 2 * rows);
    std::uint64_t end = 0;
    for (auto const& page : map.tables[0].columns[0].pages) {
        ASSERT_EQ(page.first, end);
        end += page.count;
    }
}

} // namespace
} // namespace thalweg::dataset
