// How much a journal takes, and that it has every row that is in no page whatever was removed meanwhile.
#include <algorithm>
#include <array>
#include <atomic>
#include <fmt/format.h>
#include <optional>
#include <random>
#include <thread>

#include "thalweg/dataset/journal/test_segments.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kSamples = 142; // with id and producer: 293 bytes a row

// 20 kHz of 300 bytes, with everything that is counted in bytes or seconds a hundredth: for ten minutes of such a
// stream the journal took 3.4 GB, three times the file.
CreateOptions hundredth() {
    CreateOptions options;
    options.write.staging.page_ring_bytes = (16 << 20) / 100;
    options.layout.wide_page_bytes = 32 << 10;
    options.layout.narrow_page_bytes = 32 << 10;
    options.commit.flush_interval_ns = 10'000'000;
    options.commit.rows_budget_bytes = (16 << 20) / 100;
    options.journal = {(8 << 20) / 100, (8 << 20) / 100, (24 << 20) / 100};
    return options;
}

TEST(JournalSize, OfAFastStreamIsBoundedWhileReadersLookOn) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const writer = Writer::create(path, pulses(kSamples), hundredth());
    std::atomic<bool> over = false;
    std::uint64_t looks = 0, most_rows = 0;
    std::jthread reader([&] {
        while (!over) {
            auto const run = Reader::open(path);
            auto const rows = run->rows(0);
            EXPECT_GE(rows, most_rows); // none is missed
            most_rows = rows;
            if (rows == 0) continue;
            std::vector<std::uint64_t> ids(rows);
            std::this_thread::sleep_for(std::chrono::milliseconds(30)); // until segments have gone
            run->read(0, 1, {0, rows}, std::as_writable_bytes(std::span(ids)));
            for (std::uint64_t i = 0; i < rows; ++i) ASSERT_EQ(ids[i], i);
            EXPECT_EQ(run->report().notes, std::vector<std::string>{});
            ++looks;
        }
    });
    auto producer = writer->producer("pulses");
    std::uint64_t row = 0, most_bytes = 0, raw_bytes = 0;
    auto const begin = std::chrono::steady_clock::now();
    for (int step = 0; step < 1500; ++step) { // 20 rows a millisecond
        PulseRows(1, row, 20, kSamples).append_to(producer);
        row += 20;
        raw_bytes += 20 * (kSamples * 2 + 9);
        auto const status = writer->status();
        most_bytes = std::max(most_bytes, status.journal_bytes - status.pages * 100);
        std::this_thread::sleep_until(begin + std::chrono::milliseconds(step));
    }
    over = true;
    reader.join();
    producer.finish();
    auto const bound = (64 << 20) / 100 + 2 * ((16 << 20) / 100);
    EXPECT_LT(most_bytes, bound);
    EXPECT_GT(raw_bytes, 8 * bound);
    EXPECT_GT(looks, 3u);
    RecordProperty("journal_bytes", std::to_string(most_bytes));
    EXPECT_EQ(writer->close(kTimeoutNs).report.tables[0].rows, row);
    for (auto const& entry : std::filesystem::directory_iterator(directory.file("")))
        EXPECT_EQ(entry.path().filename().string(), "run.h5");
}

// A power cut has taken a page that the journal announces, and not the rows that were journaled before. The run goes
// on, says that the page does not count, and keeps these rows until another page holds them.
TEST(JournalSize, RowsOfAPageThatDoesNotCountStay) {
    model::Schema const schema{{{"slow", {scalar("id", model::Scalar::uint64)}, ""}}};
    auto const segments = std::make_shared<MemorySegments>();
    JournalFiles const files(storage::make_memory_storage("run.h5.journal"), segments);
    JournalLimits const limits{0, 64 << 10, 64 << 10};
    std::array<std::uint64_t, 3> const ids{7, 8, 9};
    PageRecord const page{0, 0, 0, 3, 0, 4096, 24, 0, 1, 1, 0, 0};
    auto journal =
        std::optional(JournalWriter::begin(files, model::to_json(model::make_run_head(schema, {}, {})), {}, limits));
    journal->append(RecordType::producer, ProducerRecord{0, 0, 1, 0});
    journal->append(RecordType::rows, RowsRecord{0, 0, 0, 3}, std::as_bytes(std::span(ids)));
    journal->append(RecordType::pages, page);
    journal->sync();
    auto const flush_often = [&] {
        for (int i = 0; i < 4; ++i) {
            journal->append(RecordType::barrier, BarrierRecord{journal->size_bytes()});
            journal->sync();
        }
    };
    for (bool const says_it : {true, false}) { // now, and in front of where the next one begins
        journal.emplace(JournalWriter::resume(files, limits));
        if (says_it) journal->append(RecordType::voided_page, VoidedPageRecord{page.offset});
        flush_often();
        EXPECT_EQ(segments->list(), std::vector<std::uint32_t>{1});
    }
    auto again = page;
    again.offset = 8192;
    journal->append(RecordType::pages, again);
    journal->append(RecordType::rows, RowsRecord{0, 0, 3, 3}, std::as_bytes(std::span(ids))); // into another segment
    flush_often();
    EXPECT_EQ(segments->list(), std::vector<std::uint32_t>{2});
}

// Streams that get a row every flush: what is not needed any more is given back although every segment holds something
// that is needed.
TEST(JournalSize, OfManySlowStreamsIsBoundedByWhatIsInNoPage) {
    constexpr std::uint32_t kStreams = 100, kPageRows = 256;
    model::Schema const schema{{{"slow", {scalar("id", model::Scalar::uint64)}, ""}}};
    auto const head = model::make_run_head(schema, {}, {});
    auto const segments = std::make_shared<MemorySegments>();
    JournalFiles const files(storage::make_memory_storage("run.h5.journal"), segments);
    JournalLimits const limits{64 << 10, 64 << 10, 192 << 10};
    auto journal = JournalWriter::begin(files, model::to_json(head), {}, limits);
    auto const begin_bytes = journal.total_bytes();
    std::vector<std::uint64_t> first(kStreams), next(kStreams);
    for (std::uint32_t i = 0; i < kStreams; ++i) {
        journal.append(RecordType::producer, ProducerRecord{i, 0, 1, 0});
        first[i] = 0;
    }
    std::mt19937_64 random(3);
    std::uint64_t pages = 0, appended = 0;
    for (int flush = 0; flush < 15000; ++flush) {
        for (std::uint32_t i = 0; i < kStreams; ++i) {
            if (i % 10 != static_cast<std::uint32_t>(flush % 10) && i > 10) continue; // ten are fast
            std::uint64_t const value = random();
            journal.append(RecordType::rows, RowsRecord{i, 0, next[i]++, 1}, std::as_bytes(std::span(&value, 1)));
            appended += 1;
            if (next[i] - first[i] < kPageRows + i) continue;
            PageRecord const page{i, 0, first[i], kPageRows, 0, 4096, kPageRows * 8, 0, 1, 1, 0, 0};
            journal.append(RecordType::pages, page);
            first[i] += kPageRows;
            ++pages;
        }
        journal.append(RecordType::barrier, BarrierRecord{journal.size_bytes()});
        journal.sync();
        std::uint64_t in_no_page = 0;
        for (std::uint32_t i = 0; i < kStreams; ++i) in_no_page += (next[i] - first[i]) * 8;
        // 64 MiB where segments have 8; 32 bytes a BARRIER. Segments are so small here that it counts what each begins
        // with, and is said of it in the main journal.
        auto const beginnings = kHeadOffset * segments->list().size() + 64 * segments->created();
        auto const bound = 8 * limits.segment_bytes + beginnings + 2 * in_no_page + 100 * pages + 32 * (flush + 1);
        ASSERT_LT(journal.total_bytes() - begin_bytes, bound) << flush;
    }
    EXPECT_GT(appended * 8, 8 * limits.slack_bytes);
    EXPECT_GT(segments->created(), segments->list().size() + 5);
    // Everything that no page holds is there.
    auto const file = storage::make_memory_storage("run.h5");
    file->resize(4096 + kPageRows * 8);
    for (bool const resumed : {false, true}) {
        if (resumed) JournalWriter::resume(files);
        auto const gathered = gather(files, *file, RunState::open);
        EXPECT_EQ(gathered.report.notes, std::vector<std::string>{});
        for (std::uint32_t i = 0; i < kStreams; ++i) {
            std::uint64_t rows = 0;
            for (auto const& range : gathered.facts.tables[0][i].rows) rows += range.count;
            EXPECT_EQ(rows, next[i]) << i;
        }
    }
    segments->remove(segments->list().back());
    auto const notes = gather(files, *file, RunState::open).report.notes;
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_NE(notes[0].find("is missing"), std::string::npos) << notes[0];
}

// Journaling again what is needed makes segments, too: where they are hardly larger than their beginnings it went on
// for ever.
TEST(JournalSize, WhatIsJournaledAgainIsNotJournaledAgainAtOnce) {
    auto const segments = std::make_shared<MemorySegments>();
    JournalFiles const files(storage::make_memory_storage("run.h5.journal"), segments);
    auto const head = model::make_run_head(pulses(4), {}, {});
    auto journal = JournalWriter::begin(files, model::to_json(head), {}, {0, 9 << 10, 0});
    std::mt19937_64 random(5);
    journal.append(RecordType::producer, ProducerRecord{0, 0, 1, 0});
    for (std::uint64_t flush = 0; flush < 200; ++flush) {
        std::vector<std::uint64_t> values(150);
        for (auto& each : values) each = random();
        journal.append(RecordType::rows, RowsRecord{0, 1, 150 * flush, 150}, std::as_bytes(std::span(values)));
        if (flush % 3 != 0) { // all but a few of what came before
            PageRecord const page{0, 1, 150 * (flush - 1) + 5, 140, 0, 4096, 1120, 0, 1, 1, 0, 0};
            journal.append(RecordType::pages, page);
        }
        journal.append(RecordType::barrier, BarrierRecord{journal.size_bytes()});
        journal.sync();
    }
    EXPECT_GT(segments->created(), 100u);
    EXPECT_LT(segments->created(), 3000u);
}

// On a full disk, rows go where room was kept for them: a segment does not grow beyond its own.
TEST(JournalSize, ASegmentStaysWithinItsRoomOnAFullDisk) {
    auto const faults = std::make_shared<storage::Faults>();
    auto const main = std::make_shared<storage::FaultyStorage>(storage::make_memory_storage("run.h5.journal"), faults);
    auto const segments = std::make_shared<FaultySegments>(faults);
    auto const head = model::make_run_head({{{"slow", {scalar("id", model::Scalar::uint64)}, ""}}}, {}, {});
    auto journal = JournalWriter::begin({main, segments}, model::to_json(head), {}, {0, 64 << 10, 1 << 20});
    journal.append(RecordType::producer, ProducerRecord{0, 0, 1, 0});
    journal.reserve_ahead(256 << 10);
    std::mt19937_64 random(7);
    std::uint64_t rows = 0;
    auto const append = [&](std::uint64_t count) {
        std::vector<std::uint64_t> values(count);
        for (auto& value : values) value = random();
        journal.append(RecordType::rows, RowsRecord{0, 0, rows, count}, std::as_bytes(std::span(values)));
        rows += count;
        journal.sync();
    };
    for (int i = 0; i < 50; ++i) append(120); // the first segment has room for less than the next rows
    ASSERT_EQ(segments->list().size(), 1u);
    faults->set_space(main->size() + segments->open(1)->size());
    append(4000);
    std::uint64_t found = 0;
    read_journal({main, segments}, [&](JournalRecord const& record) {
        if (record.type == RecordType::rows) found += record.items_bytes / sizeof(std::uint64_t);
        return true;
    });
    EXPECT_EQ(found, rows);
}

// A power cut at every write, sync and change of size: what sync() has returned for is there, whatever was removed, or
// journaled again and not yet removed.
TEST(JournalSize, APowerCutTakesNoRowThatWasSynced) {
    constexpr std::uint32_t kStreams = 3, kPageRows = 40;
    auto const head = model::make_run_head({{{"slow", {scalar("id", model::Scalar::uint64)}, ""}}}, {}, {});
    auto const file = storage::make_memory_storage("run.h5");
    file->resize(4096 + kPageRows * 8);
    std::uint64_t removed = 0, with_promise = 0;
    for (std::uint64_t cut = 0;; ++cut) {
        SCOPED_TRACE(cut);
        storage::FaultPlan plan;
        plan.seed = cut;
        plan.power_cut_at = cut / 3;
        plan.sector_survival_chance = std::array{0.0, 0.5, 1.0}[cut % 3];
        auto const faults = std::make_shared<storage::Faults>(plan);
        auto const main =
            std::make_shared<storage::FaultyStorage>(storage::make_memory_storage("run.h5.journal"), faults);
        auto const segments = std::make_shared<FaultySegments>(faults);
        std::vector<std::uint64_t> first(kStreams), next(kStreams), promised;
        try {
            auto journal = JournalWriter::begin({main, segments}, model::to_json(head), {}, {512, 9 << 10, 2 << 10});
            for (std::uint32_t i = 0; i < kStreams; ++i)
                journal.append(RecordType::producer, ProducerRecord{i, 0, 1, 0});
            std::mt19937_64 random(cut);
            for (std::uint32_t flush = 0; flush < 40; ++flush) {
                for (std::uint32_t i = 0; i < kStreams; ++i) {
                    std::vector<std::uint64_t> values(i == 0 ? 1 : 30);
                    for (auto& value : values) value = random();
                    journal.append(RecordType::rows, RowsRecord{i, 0, next[i], values.size()},
                                   std::as_bytes(std::span(values)));
                    next[i] += values.size();
                    for (; next[i] - first[i] > 2 * kPageRows; first[i] += kPageRows) {
                        PageRecord const page{i, 0, first[i], kPageRows, 0, 4096, kPageRows * 8, 0, 1, 1, 0, 0};
                        journal.append(RecordType::pages, page);
                    }
                }
                journal.append(RecordType::barrier, BarrierRecord{journal.size_bytes()});
                journal.sync();
                promised = next;
            }
        } catch (base::SystemError const&) {
            EXPECT_TRUE(faults->power_is_off());
        }
        removed += segments->removed();
        if (!promised.empty()) {
            ++with_promise;
            JournalFiles const left(main->after_power_cut(), segments->after_power_cut());
            auto const gathered = gather(left, *file, RunState::open);
            ASSERT_EQ(gathered.facts.tables[0].size(), kStreams);
            for (std::uint32_t i = 0; i < kStreams; ++i) {
                auto const& rows = gathered.facts.tables[0][i].rows;
                ASSERT_EQ(rows.size(), 1u);
                ASSERT_EQ(rows[0].first, 0u);
                ASSERT_GE(rows[0].count, promised[i]);
            }
        }
        if (!faults->power_is_off()) break;
    }
    EXPECT_GT(with_promise, 300u);
    EXPECT_GT(removed, 1000u);
}

TEST(JournalSize, APageTakesLessThanAHundredBytes) {
    JournalFiles const files(storage::make_memory_storage("run.h5.journal"));
    auto journal = JournalWriter::begin(files, model::to_json(model::make_run_head(pulses(4), {}, {})));
    std::mt19937_64 random(9);
    auto const begin = journal.size_bytes();
    std::vector<PageRecord> written;
    for (std::uint64_t i = 0; i < 1000; ++i) { // one a record, as a slow producer announces them
        PageRecord const page{4000,
                              700,
                              i << 40,
                              1 << 20,
                              1,
                              random() >> 20,
                              random() >> 40,
                              random() >> 20,
                              random(),
                              static_cast<std::uint32_t>(random()),
                              0,
                              random() >> 20};
        journal.append(RecordType::pages, page);
        written.push_back(page);
    }
    EXPECT_LT(journal.size_bytes() - begin, 100 * written.size());
    std::vector<PageRecord> read;
    read_journal(files, [&](JournalRecord const& record) {
        if (record.type != RecordType::pages) return true;
        PageRecord page;
        std::memcpy(&page, record.payload.data(), sizeof page);
        read.push_back(page);
        return true;
    });
    ASSERT_EQ(read.size(), written.size());
    EXPECT_EQ(std::memcmp(read.data(), written.data(), written.size() * sizeof(PageRecord)), 0);
}

} // namespace
} // namespace thalweg::dataset
