#include "thalweg/dataset/append/work_unit.h"

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

// Rows say which unit they are of: `events` has so many of each, with lists, `sums` has one.
model::Schema unit_schema() {
    return {{{"events",
              {scalar("key", model::Scalar::uint64), scalar("index", model::Scalar::uint64),
               list("hits", scalar("", model::Scalar::uint16))},
              ""},
             {"sums", {scalar("key", model::Scalar::uint64), scalar("rows", model::Scalar::uint64)}, ""}}};
}

std::uint64_t rows_of(std::uint64_t key) { return key * 37 % 101 + (key % 50 == 7 ? 3000 : 0); }

void append_events(Producer& out, std::uint64_t key, std::uint64_t first, std::uint64_t rows) {
    std::vector<std::uint64_t> keys(rows, key), indices, lengths;
    std::vector<std::uint16_t> hits;
    for (auto i = first; i < first + rows; ++i) {
        indices.push_back(i);
        lengths.push_back((key + i) % 5);
        hits.insert(hits.end(), lengths.back(), static_cast<std::uint16_t>(key * 3 + i));
    }
    std::span<std::byte const> const columns[] = {std::as_bytes(std::span(keys)), std::as_bytes(std::span(indices)),
                                                  std::as_bytes(std::span(lengths)), std::as_bytes(std::span(hits))};
    out.append(rows, columns);
}

void fill(WorkUnit& unit, std::uint64_t key) {
    for (std::uint64_t row = 0; row < rows_of(key); row += 13)
        append_events(unit["events"], key, row, std::min<std::uint64_t>(13, rows_of(key) - row));
    std::uint64_t const rows = rows_of(key);
    std::span<std::byte const> const columns[] = {std::as_bytes(std::span(&key, 1)),
                                                  std::as_bytes(std::span(&rows, 1))};
    unit["sums"].append(1, columns);
}

template <typename T>
std::vector<T> column(Reader const& reader, std::size_t table, std::size_t index, ItemRange range) {
    std::vector<T> values(range.count);
    reader.read(table, index, range, std::as_writable_bytes(std::span(values)));
    return values;
}

// The keys that are in the file, each with exactly its rows, in their order, in both tables.
std::set<std::uint64_t> whole_units(std::string const& path, std::optional<std::uint64_t> of_no_unit = {}) {
    auto const reader = Reader::open(path);
    ItemRange const all{0, reader->rows(0)};
    auto const keys = column<std::uint64_t>(*reader, 0, 0, all), indices = column<std::uint64_t>(*reader, 0, 1, all);
    auto const lengths = column<std::uint64_t>(*reader, 0, 2, all);
    auto const hits = column<std::uint16_t>(*reader, 0, 3, reader->elements(0, 2, all));
    std::map<std::uint64_t, std::uint64_t> rows;
    std::size_t hit = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        ++rows[keys[i]];
        EXPECT_EQ(lengths[i], (keys[i] + indices[i]) % 5);
        for (std::uint64_t j = 0; j < lengths[i]; ++j)
            EXPECT_EQ(hits[hit++], static_cast<std::uint16_t>(keys[i] * 3 + indices[i]));
    }
    EXPECT_EQ(hit, hits.size());
    std::map<std::uint64_t, std::vector<bool>> seen;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        auto& there = seen[keys[i]];
        there.resize(rows_of(keys[i]));
        EXPECT_LT(indices[i], there.size());
        if (indices[i] < there.size()) {
            EXPECT_FALSE(there[indices[i]]) << "twice: row " << indices[i] << " of unit " << keys[i];
            there[indices[i]] = true;
        }
    }
    if (of_no_unit) rows.erase(*of_no_unit);
    std::set<std::uint64_t> whole;
    for (auto const key : column<std::uint64_t>(*reader, 1, 0, {0, reader->rows(1)})) {
        EXPECT_TRUE(whole.insert(key).second) << "unit " << key << " twice";
        EXPECT_EQ(rows[key], rows_of(key)) << "unit " << key;
        rows.erase(key);
    }
    for (auto const& [key, count] : rows) ADD_FAILURE() << count << " rows of unit " << key << " only in one table";
    std::set<std::uint64_t> told;
    for (auto const& unit : reader->units()) told.insert(static_cast<std::uint64_t>(unit.key.integer));
    EXPECT_EQ(told, whole);
    return whole;
}

std::set<std::uint64_t> up_to(std::uint64_t end) {
    std::set<std::uint64_t> keys;
    for (std::uint64_t key = 0; key < end; ++key) keys.insert(key);
    return keys;
}

// Small pages, clusters and extents: a unit of 3000 rows goes over several.
CreateOptions small_options() {
    CreateOptions options;
    options.layout.narrow_page_bytes = 4096;
    options.layout.cluster_bytes = 32 << 10;
    options.write.extent_bytes = 16 << 10;
    options.write.staging.page_ring_bytes = 128 << 10;
    options.commit.flush_interval_ns = 20'000'000;
    options.commit.interim_footer_share = 1;
    return options;
}

class WorkUnits_ : public ::testing::TestWithParam<char const*> {
  protected:
    Directory directory;
    std::string path = directory.file(std::string("run") + GetParam());
    std::unique_ptr<Writer> writer = Writer::create(path, unit_schema(), small_options());
};

TEST_P(WorkUnits_, CountTogetherOrNotAtAll) {
    for (std::uint64_t key = 0; key < 120; ++key) {
        if (key % 3 == 1) { // work that fails, at any place, and is done again
            auto unit = writer->work_unit(static_cast<std::int64_t>(key));
            append_events(unit["events"], key, 0, rows_of(key) / 2 + 1);
            if (key % 2 == 0) unit.drop();
        }
        auto unit = writer->work_unit(static_cast<std::int64_t>(key), "summary of " + std::to_string(key));
        fill(unit, key);
        EXPECT_TRUE(unit.commit());
        EXPECT_NE(message_of([&] { unit["events"]; }).find("has ended"), std::string::npos);
    }
    EXPECT_TRUE(writer->is_committed(std::int64_t{119}));
    EXPECT_FALSE(writer->is_committed(std::int64_t{120}));
    auto const status = writer->status();
    EXPECT_EQ(status.units_committed, 120u);
    auto const result = writer->close(kTimeoutNs);
    EXPECT_EQ(result.report.units, 120u);
    EXPECT_EQ(result.report.units_lost, 0u);
    EXPECT_GT(result.report.dropped_bytes, 0u) << "unit 7 was dropped when pages of it were in the file";
    EXPECT_EQ(whole_units(path), up_to(120));
    auto const units = Reader::open(path)->units();
    ASSERT_EQ(units.size(), 120u);
    for (auto const& unit : units) EXPECT_EQ(unit.summary, "summary of " + unit.key.str());
}

// Also of those that no flush has met.
TEST_P(WorkUnits_, WhatIsNotDurableYetIsReported) {
    auto options = small_options();
    options.commit.flush_interval_ns = 3'600'000'000'000;
    auto const slow = Writer::create(directory.file(std::string("slow") + GetParam()), unit_schema(), options);
    EXPECT_EQ(slow->status().units_not_durable, 0u);
    for (std::uint64_t key = 0; key < 3; ++key) {
        auto unit = slow->work_unit(static_cast<std::int64_t>(key));
        fill(unit, key);
        EXPECT_TRUE(unit.commit());
    }
    base::sleep_ns(5'000'000);
    auto const status = slow->status();
    EXPECT_EQ(status.units_not_durable, 3u);
    EXPECT_GE(status.units_oldest_age_ns, 5'000'000u);
}

// When the power is cut, some rows of units are in pages, some in the journal, and some in neither.
TEST_P(WorkUnits_, RowsOfUnitsAreJournaledUnlessARunAsksForNone) {
    for (bool const journal_units : {false, true}) {
        auto const mine = directory.file((journal_units ? "asked" : "not-asked") + std::string(GetParam()));
        auto options = small_options();
        options.commit.flush_interval_ns = 10'000'000;
        options.commit.journal_units = journal_units;
        auto const out = Writer::create(mine, unit_schema(), options);
        for (std::uint64_t key = 0; key < 20; ++key) {
            auto unit = out->work_unit(static_cast<std::int64_t>(key));
            fill(unit, key);
            EXPECT_TRUE(unit.commit());
        }
        auto open = out->work_unit(std::int64_t{99});
        fill(open, 99);
        auto const begin_ns = base::monotonic_ns();
        auto const seconds = journal_units ? 60 : 1;
        while (out->status().units_not_durable > 0 && base::monotonic_ns() < begin_ns + seconds * 1'000'000'000ull)
            base::sleep_ns(1'000'000);
        EXPECT_EQ(out->status().units_not_durable == 0, journal_units);
        if (!journal_units) continue;
        EXPECT_LT(out->status().durable_lag_ns, 60'000'000'000u);
        // What a power cut leaves: file and journal, and no memory.
        auto const copy = directory.file("copy" + std::string(GetParam()));
        for (auto const& each : std::filesystem::directory_iterator(std::filesystem::path(mine).parent_path())) {
            auto const from = each.path().string();
            if (from.starts_with(mine)) std::filesystem::copy_file(from, copy + from.substr(mine.size()));
        }
        auto const report = recover(copy).report;
        EXPECT_EQ(report.units, 20u);
        EXPECT_EQ(report.units_lost, 0u);
        EXPECT_EQ(whole_units(copy), up_to(20));
    }
}

TEST_P(WorkUnits_, AKeyIsTakenOnce) {
    std::atomic<int> committed = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (std::uint64_t key = 0; key < 100; ++key) {
                    auto unit = writer->work_unit(static_cast<std::int64_t>(key));
                    fill(unit, key);
                    if (unit.commit()) ++committed;
                }
            });
        }
    }
    EXPECT_EQ(committed, 100);
    writer->close(kTimeoutNs);
    EXPECT_EQ(whole_units(path), up_to(100));
}

// They announce on the ring on which the worker announces its units: found by the simulator, which lost a page.
TEST_P(WorkUnits_, CountWithThreadsThatEncode) {
    writer->close(kTimeoutNs);
    auto options = small_options();
    options.force = true;
    options.write.seal_threads = 3;
    writer = Writer::create(path, unit_schema(), options);
    for (std::uint64_t key = 0; key < 400; ++key) {
        auto unit = writer->work_unit(static_cast<std::int64_t>(key));
        fill(unit, key);
        EXPECT_TRUE(unit.commit());
    }
    writer->close(kTimeoutNs);
    EXPECT_EQ(whole_units(path), up_to(400));
}

TEST_P(WorkUnits_, KeysMayBeTextAndSummariesLong) {
    std::string const longest(64, 'k'), summary(64 << 10, 's');
    for (auto const& key : {std::string("a"), std::string("a\0b", 3), longest}) {
        auto unit = writer->work_unit(key, summary);
        EXPECT_TRUE(unit.commit()) << "without a row";
        EXPECT_FALSE(writer->work_unit(key).commit());
    }
    EXPECT_NE(message_of([&] { writer->work_unit(std::string()); }).find("a key has 1 to 64"), std::string::npos);
    EXPECT_NE(message_of([&] { writer->work_unit(longest + "k"); }), "");
    EXPECT_NE(message_of([&] { writer->work_unit(std::int64_t{1}, summary + "s"); }).find("too long"),
              std::string::npos);
    writer->close(kTimeoutNs);
    auto const units = Reader::open(path)->units();
    ASSERT_EQ(units.size(), 3u);
    EXPECT_EQ(units[1].key, UnitKey(std::string("a\0b", 3)));
    EXPECT_EQ(units[2].summary, summary);
}

// Workers are killed at any moment; others do again what was not committed.
TEST_P(WorkUnits_, AreWholeWhicheverProcessIsKilled) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    constexpr std::uint64_t kKeys = 300;
    auto const handle = writer->handle();
    auto const work = [&](unsigned seed) {
        WorkUnits units(attach(handle));
        for (std::uint64_t i = 0; i < kKeys; ++i) {
            auto const key = (i + seed * 71) % kKeys;
            if (units.is_committed(static_cast<std::int64_t>(key))) continue;
            auto unit = units.begin(static_cast<std::int64_t>(key));
            fill(unit, key);
            unit.commit();
        }
        units.finish();
    };
    auto const start = [&](unsigned seed) {
        auto const child = ::fork();
        if (child != 0) return child;
        try {
            work(seed);
            ::_exit(0);
        } catch (std::exception const& error) {
            std::fprintf(stderr, "%s\n", error.what());
            ::_exit(1);
        }
    };
    for (unsigned round = 0; round < 8; ++round) {
        auto const one = start(round), other = start(round + 100);
        ::usleep(2'000 + 3'000 * round);
        for (auto const child : {one, other}) ::kill(child, SIGKILL);
        for (auto const child : {one, other}) ::waitpid(child, nullptr, 0);
    }
    int status = 0;
    ::waitpid(start(9), &status, 0);
    EXPECT_EQ(status, 0);
    writer->close(kTimeoutNs);
    EXPECT_EQ(whole_units(path), up_to(kKeys));
}

// Everything is killed, the committer, too: what was committed is recovered, and nothing else.
TEST_P(WorkUnits_, AreRecoveredWhenEverythingDies) {
    writer->close(kTimeoutNs);
    for (int round = 0; round < 6; ++round) {
        int pipe[2];
        ASSERT_EQ(::pipe(pipe), 0);
        auto const child = ::fork();
        if (child == 0) {
            auto options = small_options();
            options.force = true;
            auto const run = Writer::create(path, unit_schema(), options);
            for (std::uint64_t key = 0;; ++key) {
                auto unit = run->work_unit(static_cast<std::int64_t>(key));
                fill(unit, key);
                unit.commit();
                static_cast<void>(::write(pipe[1], &key, sizeof key));
            }
        }
        ::close(pipe[1]);
        std::uint64_t committed = 0; // one at least: to create the file may take longer than what follows
        ASSERT_EQ(::read(pipe[0], &committed, sizeof committed), sizeof committed);
        ++committed;
        ::usleep(60'000 + 20'000 * round);
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        for (std::uint64_t key; ::read(pipe[0], &key, sizeof key) == sizeof key; committed = key + 1) {
        }
        ::close(pipe[0]);
        auto const result = recover(path);
        EXPECT_EQ(result.report.units_lost, 0u);
        auto const there = whole_units(path);
        EXPECT_EQ(there, up_to(there.size()));
        EXPECT_GE(there.size(), committed);
        EXPECT_LE(there.size(), committed + 1) << "one may have been committed and not told of";
    }
}

// Killed wholly, again and again, a run goes on in the same file, and nothing that was committed is done again.
TEST_P(WorkUnits_, GoOnInARunThatIsResumed) {
    constexpr std::uint64_t kKeys = 200;
    append_events(*std::make_unique<Producer>(writer->producer("events")), 1000, 0, rows_of(1000)); // outside of units
    writer->abandon();
    writer.reset();
    std::uint64_t rounds = 0;
    for (bool over = false; !over; ++rounds) {
        ASSERT_LT(rounds, 100u);
        auto const child = ::fork();
        if (child == 0) {
            try {
                auto const run = Writer::resume(path, unit_schema(), small_options());
                for (std::uint64_t key = 0; key < kKeys; ++key) {
                    if (run->is_committed(static_cast<std::int64_t>(key))) continue;
                    auto unit = run->work_unit(static_cast<std::int64_t>(key));
                    fill(unit, key);
                    if (!unit.commit()) ::_exit(1);
                }
                run->close(kTimeoutNs);
            } catch (std::exception const& error) { // the one before it was killed when all but the last step was done
                std::string const text = error.what();
                bool const nothing_left =
                    text.find("it is complete") != text.npos || text.find("nothing to resume") != text.npos;
                if (!nothing_left) std::fprintf(stderr, "%s\n", error.what());
                ::_exit(nothing_left ? 0 : 2);
            }
            ::_exit(0);
        }
        ::usleep(static_cast<useconds_t>(20'000 + 10'000 * rounds));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        over = WIFEXITED(status);
        if (over) {
            EXPECT_EQ(WEXITSTATUS(status), 0);
        }
    }
    if (std::filesystem::exists(path + ".journal")) recover(path);
    auto const reader = Reader::open(path);
    EXPECT_FALSE(reader->is_open_run());
    std::uint64_t rows = 0;
    for (auto const key : column<std::uint64_t>(*reader, 0, 0, {0, reader->rows(0)})) rows += key == 1000;
    EXPECT_EQ(rows, rows_of(1000));
    EXPECT_EQ(whole_units(path, 1000), up_to(kKeys));
}

TEST_P(WorkUnits_, AreSeenInARunThatIsOpenOnceTheyAreInPages) {
    for (std::uint64_t key = 0; key < 200; ++key) {
        auto unit = writer->work_unit(static_cast<std::int64_t>(key));
        fill(unit, key);
        unit.commit();
        if (key % 20 == 0) {
            auto const there = whole_units(path);
            EXPECT_EQ(there, up_to(there.size()));
        }
    }
    writer->close(kTimeoutNs);
}

INSTANTIATE_TEST_SUITE_P(All, WorkUnits_, ::testing::Values(".h5", ".root"),
                         [](auto const& name) { return std::string(name.param).substr(1); });

} // namespace
} // namespace thalweg::dataset
