#include "thalweg/dataset/journal/journal.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/journal/test_segments.h"
#include "thalweg/dataset/read/live_map.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;
using storage::Storage;

struct Met {
    RecordType type;
    std::vector<std::byte> payload;
    bool operator==(Met const&) const = default;
};

struct Reading {
    std::vector<Met> records;
    JournalDamage damage;
};

Reading read_all(Storage const& journal) {
    Reading reading;
    reading.damage = read_journal(copy_of_storage(journal), [&](JournalRecord const& record) {
        reading.records.push_back({record.type, {record.payload.begin(), record.payload.end()}});
        return true;
    });
    return reading;
}

std::shared_ptr<Storage> storage_of(std::span<std::byte const> bytes) {
    std::shared_ptr<Storage> storage = storage::make_memory_storage("run.h5.journal");
    storage->write(0, bytes);
    return storage;
}

std::vector<std::byte> bytes_of(Storage const& storage) {
    std::vector<std::byte> bytes(storage.size());
    storage.read(0, bytes);
    return bytes;
}

// A head, a producer, pages, rows, a finish, a barrier: sound by itself, though there is no file with such pages.
std::vector<std::byte> small_journal() {
    std::shared_ptr<Storage> const storage = storage::make_memory_storage("run.h5.journal");
    auto const head = model::make_run_head(pulses(4), {}, {});
    auto journal = JournalWriter::begin(storage, model::to_json(head));
    journal.append(RecordType::producer, ProducerRecord{0, 0, 1, 0});
    PageRecord pages[2] = {{0, 0, 0, 8, 0, 4096, 8, 8, 1, 2, 0, 0}, {0, 0, 8, 8, 1, 8192, 5, 8, 3, 4, 0, 0}};
    journal.append(RecordType::pages, std::as_bytes(std::span(pages)));
    std::uint64_t const ids[3] = {7, 8, 9};
    journal.append(RecordType::rows, RowsRecord{0, 1, 0, 3}, std::as_bytes(std::span(ids)));
    journal.append_json(RecordType::metadata, R"({"operator": "shift 12"})");
    journal.append(RecordType::finish, FinishRecord{0, 0, 3});
    journal.append(RecordType::barrier, BarrierRecord{journal.size_bytes()});
    return bytes_of(*storage);
}

std::uint64_t records_begin(std::vector<std::byte> const& journal) {
    return read_start(*storage_of(journal)).preamble.records;
}

// Whatever is there, every reader of journals ends, with a result or a DataError.
void expect_survived(std::shared_ptr<Storage> const& journal) {
    auto const file = storage::make_memory_storage("run.h5");
    file->resize(16384);
    for (auto const state : {RunState::open, RunState::ended, RunState::copied}) {
        try {
            auto const gathered = gather(journal, *file, state);
            live_map(gathered, *file, *gathered.rows);
        } catch (base::DataError const&) {
        }
    }
}

TEST(Journal, GivesBackWhatWasAppended) {
    auto const reading = read_all(*storage_of(small_journal()));
    ASSERT_EQ(reading.records.size(), 7u);
    EXPECT_EQ(reading.damage.reason, "");
    EXPECT_EQ(reading.damage.damaged_records, 0u);
    EXPECT_EQ(reading.records[3].type, RecordType::rows);
    EXPECT_EQ(reading.records[3].payload.size(), sizeof(RowsRecord));
    EXPECT_EQ(reading.records[2].payload.size(), 2 * sizeof(PageRecord));
}

// Another machine had them in its memory alone, and has lost its power since they were read.
TEST(Journal, RowsThatHaveGoneSinceTheyWereReadAreNoZeros) {
    auto const file = storage_of(small_journal());
    JournalRows rows("run.h5.journal");
    JournalRecord met{};
    static_cast<void>(read_journal(
        file,
        [&](JournalRecord const& record) {
            if (record.type == RecordType::rows) met = record;
            return true;
        },
        &rows));
    ASSERT_EQ(met.items_bytes, 3 * sizeof(std::uint64_t));
    file->write(met.payload_offset, std::vector<std::byte>(file->size() - met.payload_offset));
    std::vector<std::byte> items(met.items_bytes);
    try {
        rows.read(met.items_address, items);
        FAIL() << "these are no rows that were appended";
    } catch (base::SystemError const& error) {
        EXPECT_EQ(error.code, ENODATA);
    }
}

TEST(Journal, CutAnywhereItHasTheRecordsInFront) {
    auto const bytes = small_journal();
    auto const whole = read_all(*storage_of(bytes)).records;
    auto const records = records_begin(bytes);
    for (std::size_t size = 0; size < bytes.size(); size += size + 97 < records ? 97 : 1) {
        SCOPED_TRACE(size);
        auto const journal = storage_of(std::span(bytes).first(size));
        if (read_start(*journal).kind != JournalKind::journal) {
            EXPECT_LT(size, records);
            EXPECT_EQ(read_start(*journal).kind, JournalKind::stub);
            EXPECT_THROW(read_all(*journal), base::DataError);
            continue;
        }
        auto const reading = read_all(*journal);
        ASSERT_LT(reading.records.size(), whole.size());
        EXPECT_TRUE(std::equal(reading.records.begin(), reading.records.end(), whole.begin()));
        EXPECT_LE(reading.damage.end_offset, std::max(records, base::round_up(size, 8)));
        expect_survived(journal);
    }
}

// A write that is under way shows others its beginning: of the last record that is nothing to speak of while the run is
// open, and damage when it is over. In the middle it is damage always.
TEST(Journal, ARecordThatIsBeingWrittenIsNotDamage) {
    auto const bytes = small_journal();
    auto const sound = storage_of(bytes);
    std::vector<WalkedRecord> records;
    walk_records(*sound, records_begin(bytes), [&](WalkedRecord const& record) {
        records.push_back(record);
        return true;
    });
    std::shared_ptr<storage::Storage> const file = storage::make_memory_storage("run.h5");
    file->resize(16384);
    for (std::size_t i = 0; i < records.size(); ++i) {
        auto torn = bytes;
        if (records[i].end_offset == records[i].payload_offset) continue; // it has no content
        auto& last_byte = torn[records[i].payload_offset];
        last_byte ^= std::byte{1};
        bool const is_last = i + 1 == records.size();
        auto const damage = read_all(*storage_of(torn)).damage;
        EXPECT_NE(damage.reason, "");
        EXPECT_EQ(damage.is_at_end, is_last) << i;
        if (i == 0) continue; // without the first record the others make no sense
        auto const notes_of = [&](RunState state) { return gather(storage_of(torn), *file, state).report.notes; };
        auto const is_told = [&](RunState state) {
            auto const notes = notes_of(state);
            return std::ranges::find(notes, damage.reason) != notes.end();
        };
        EXPECT_EQ(is_told(RunState::open), !is_last) << i;
        EXPECT_TRUE(is_told(RunState::ended)) << i;
        EXPECT_TRUE(is_told(RunState::closing)) << i;
    }
}

// What a read of a growing file may give: the end of what was written meanwhile, and not its beginning.
class ReadWhileWritten final : public Storage {
  public:
    ReadWhileWritten(std::vector<std::byte> before, std::vector<std::byte> bytes, bool gets_whole)
        : before_(std::move(before)), bytes_(std::move(bytes)), gets_whole_(gets_whole) {}
    std::string const& path() const override { return path_; }
    std::string engine() const override { return "memory"; }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override {
        auto const& now = gets_whole_ && reads_++ > 0 ? bytes_ : before_;
        std::memcpy(bytes.data(), now.data() + offset, bytes.size());
    }
    std::uint64_t size() const override { return bytes_.size(); }
    void write(std::uint64_t, std::span<std::byte const>) override { ADD_FAILURE(); }
    void resize(std::uint64_t) override { ADD_FAILURE(); }
    void reserve(std::uint64_t, std::uint64_t) override { ADD_FAILURE(); }
    void sync() override { ADD_FAILURE(); }
    std::unique_ptr<storage::WriteQueue> write_queue(std::size_t) override { return nullptr; }

  private:
    std::string path_ = "run.h5.journal";
    std::vector<std::byte> before_, bytes_;
    bool gets_whole_;
    mutable int reads_ = 0;
};

TEST(Journal, OneReadOfAGrowingFileIsNotOfOneMoment) {
    auto const bytes = small_journal();
    std::vector<WalkedRecord> records;
    auto const take = [&](WalkedRecord const& record) {
        records.push_back(record);
        return true;
    };
    walk_records(*storage_of(bytes), records_begin(bytes), take);
    auto const all = std::exchange(records, {});
    for (std::size_t i = 1; i + 1 < all.size(); ++i) {
        for (bool const without_head : {true, false}) {
            auto before = bytes;
            auto const payload = all[i].payload_offset;
            auto const begin = without_head ? payload - sizeof(RecordHead) : payload;
            std::fill(before.begin() + static_cast<long>(begin), before.begin() + static_cast<long>(all[i].end_offset),
                      std::byte{0});
            auto const walked = [&](bool gets_whole) {
                records.clear();
                return walk_records(ReadWhileWritten(before, bytes, gets_whole), records_begin(bytes), take);
            };
            EXPECT_NE(walked(false).reason, "") << i << " is damaged for good";
            EXPECT_EQ(records.size(), all.size() - 1);
            EXPECT_EQ(walked(true).reason, "") << i;
            EXPECT_EQ(records.size(), all.size()) << "each once";
        }
    }
}

TEST(Journal, AFlippedByteCostsOneRecord) {
    auto const bytes = small_journal();
    auto const whole = read_all(*storage_of(bytes)).records;
    for (std::size_t at = records_begin(bytes); at < bytes.size(); ++at) {
        SCOPED_TRACE(at);
        auto damaged = bytes;
        damaged[at] ^= std::byte{static_cast<unsigned char>(1u << at % 8)};
        auto const journal = storage_of(damaged);
        auto const reading = read_all(*journal);
        if (reading.records.size() == whole.size()) { // a byte of padding, which is never read
            EXPECT_EQ(reading.damage.reason, "");
            EXPECT_EQ(reading.records, whole);
        } else {
            ASSERT_EQ(reading.records.size() + 1, whole.size());
            EXPECT_EQ(reading.damage.reason.empty(), false);
            std::size_t missing = 0;
            while (missing < reading.records.size() && reading.records[missing] == whole[missing]) ++missing;
            EXPECT_TRUE(std::equal(reading.records.begin() + static_cast<std::ptrdiff_t>(missing),
                                   reading.records.end(), whole.begin() + static_cast<std::ptrdiff_t>(missing) + 1));
        }
        expect_survived(journal);
    }
}

// Nothing in front of the records stands only once.
TEST(Journal, AFlippedBitInFrontOfTheRecordsCostsNothing) {
    auto const bytes = small_journal();
    auto const whole = read_all(*storage_of(bytes)).records;
    auto const journal = storage_of(bytes);
    for (std::size_t at = 0; at < records_begin(bytes); ++at) {
        if (at >= 2 * sizeof(JournalPreamble) && at < 4096 - 8) continue; // zeros that are never read
        for (unsigned bit = 0; bit < 8; ++bit) {
            auto const flipped = bytes[at] ^ std::byte{static_cast<unsigned char>(1u << bit)};
            journal->write(at, {&flipped, 1});
            auto const start = read_start(*journal);
            ASSERT_EQ(start.kind, JournalKind::journal) << "bit " << bit << " of byte " << at;
            ASSERT_EQ(start.head_json,
                      std::string(reinterpret_cast<char const*>(whole[0].payload.data()), whole[0].payload.size()));
            journal->write(at, {&bytes[at], 1});
        }
    }
    for (std::uint64_t block = 0; block < records_begin(bytes); block += base::kBlockBytes) { // a lost block
        auto holed = bytes;
        std::fill_n(holed.begin() + static_cast<std::ptrdiff_t>(block),
                    std::min<std::size_t>(base::kBlockBytes, holed.size() - block), std::byte{0});
        auto const there = storage_of(holed);
        ASSERT_EQ(read_start(*there).kind, JournalKind::journal) << block;
    }
}

TEST(Journal, AnotherVersionIsNamedAndIsNotAStub) {
    for (char const* const version : {"02", "03", "04", "99"}) {
        auto bytes = small_journal();
        for (auto const offset : kPreambleOffsets) std::memcpy(bytes.data() + offset + 6, version, 2);
        auto const journal = storage_of(bytes);
        EXPECT_EQ(read_start(*journal).kind, JournalKind::other_version);
        auto const said = message_of([&] { read_all(*journal); });
        EXPECT_NE(said.find(std::string("version ") + version), std::string::npos) << said;
        EXPECT_NE(said.find("version 05"), std::string::npos) << said;
    }
}

TEST(Journal, ForeignFilesAreRefusedWithTheReason) {
    std::mt19937 random(4);
    for (std::size_t size : {3u, 8u, 100u, 5000u}) {
        std::vector<std::byte> bytes(size);
        for (auto& byte : bytes) byte = std::byte(random());
        EXPECT_THROW(read_all(*storage_of(bytes)), base::DataError);
        expect_survived(storage_of(bytes));
    }
}

TEST(Journal, ResumesBehindTheLastGoodRecord) {
    auto const bytes = small_journal();
    for (std::size_t const lost : {0u, 9u, 31u, 32u, 40u}) {
        auto const journal = storage_of(std::span(bytes).first(bytes.size() - lost));
        journal->resize(journal->size() + 4096); // reserved, never used
        auto writer = JournalWriter::resume(journal);
        writer.append(RecordType::closed, {});
        auto const reading = read_all(*journal);
        EXPECT_EQ(reading.records.size(), lost == 0 ? 8u : lost <= 32 ? 7u : 6u);
        EXPECT_EQ(reading.records.back().type, RecordType::closed);
        EXPECT_EQ(reading.damage.reason, "");
        EXPECT_EQ(writer.size_bytes(), journal->size());
    }
}

// Its writer was killed in front of its first sync: the process that goes on says soon that all of it is durable.
TEST(Journal, TheSyncOfOneThatIsResumedCoversTheSegmentsOfTheDead) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const faults = std::make_shared<storage::Faults>(storage::FaultPlan{.seed = seed});
        auto const main =
            std::make_shared<storage::FaultyStorage>(storage::make_memory_storage("run.h5.journal"), faults);
        auto const segments = std::make_shared<FaultySegments>(faults);
        JournalLimits const limits{.main_rows_bytes = 0};
        {
            auto journal = JournalWriter::begin(JournalFiles(main, segments),
                                                model::to_json(model::make_run_head(pulses(4), {}, {})), {}, limits);
            journal.append(RecordType::producer, ProducerRecord{0, 0, 1, 0});
            std::uint64_t const ids[3] = {7, 8, 9};
            journal.append(RecordType::rows, RowsRecord{0, 1, 0, 3}, std::as_bytes(std::span(ids)));
            journal.append(RecordType::metadata, {}); // so that the rows are written
        }
        ASSERT_EQ(segments->list().size(), 1u);
        JournalWriter::resume(JournalFiles(main, segments), limits).sync();
        auto const left = segments->after_power_cut();
        ASSERT_EQ(left->list().size(), 1u) << seed;
        EXPECT_EQ(bytes_of(*left->open(1)), bytes_of(*segments->open(1)));
    }
}

// Its writer says how many records are damaged when it has finished, and the process that completes the file compares
// that with what it reads.
TEST(Journal, OneThatIsResumedCountsADamagedSegmentAsItsReadersDo) {
    JournalFiles const files(storage_of({}), std::make_shared<MemorySegments>());
    JournalLimits const limits{.main_rows_bytes = 0};
    {
        auto journal = JournalWriter::begin(files, model::to_json(model::make_run_head(pulses(4), {}, {})), {}, limits);
        journal.append(RecordType::producer, ProducerRecord{0, 0, 1, 0});
        std::uint64_t const ids[3] = {7, 8, 9};
        journal.append(RecordType::rows, RowsRecord{0, 1, 0, 3}, std::as_bytes(std::span(ids)));
        journal.append(RecordType::metadata, {}); // so that the rows are written
    }
    files.segments->open(1)->write(0, std::vector<std::byte>(kHeadOffset)); // a power cut took its beginning
    auto const writer = JournalWriter::resume(files, limits);
    auto const seen = read_journal(files, [](JournalRecord const&) { return true; });
    EXPECT_EQ(seen.damaged_records, 1u);
    EXPECT_EQ(writer.tally().damaged_records, seen.damaged_records);
}

// A hole of any size, as a power cut leaves it where writes were not synced: readers never fail for what is missing.
TEST(Journal, HolesAreLeftOut) {
    auto const bytes = small_journal();
    auto const head_end = records_begin(bytes);
    auto const file = storage::make_memory_storage("run.h5");
    std::mt19937 random(5);
    for (int i = 0; i < 500; ++i) {
        auto holed = bytes;
        auto const from = head_end + random() % (bytes.size() - head_end);
        auto const to = from + random() % (bytes.size() - from + 1);
        auto const fill = i % 2 == 0 ? std::byte{0} : std::byte(random());
        std::fill(holed.begin() + static_cast<std::ptrdiff_t>(from), holed.begin() + static_cast<std::ptrdiff_t>(to),
                  fill);
        auto const journal = storage_of(holed);
        auto const gathered = gather(journal, *file, RunState::ended);
        EXPECT_NO_THROW(live_map(gathered, *file, *gathered.rows));
    }
}

// Records that are sound, and say anything at all.
TEST(Journal, RecordsThatMakeNoSenseAreLeftOutAndNoted) {
    std::mt19937_64 random(6);
    auto const small = [&] { return random() % 3 == 0 ? random() : random() % 20; };
    for (int i = 0; i < 2000; ++i) {
        auto const journal = storage_of(small_journal());
        auto writer = JournalWriter::resume(journal);
        for (int k = 0; k < 6; ++k) {
            std::vector<std::uint64_t> words(random() % 20);
            for (auto& word : words) word = small();
            writer.append(static_cast<RecordType>(random() % 10), std::as_bytes(std::span(words)));
        }
        expect_survived(journal);
    }
}

} // namespace
} // namespace thalweg::dataset
