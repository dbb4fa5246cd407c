// Runs that are ordered by key: the same rows, and the same bytes of pages, whichever workers wrote them.
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/dataset/append/work_unit.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::int64_t kFirstGroup = -3, kGroups = 40; // among them
constexpr std::uint64_t kKeysPerGroup = 5;

model::Schema schema() {
    return {{{"events", {scalar("key", model::Scalar::int64), list("hits", scalar("", model::Scalar::uint16))}, ""},
             {"sums", {scalar("key", model::Scalar::int64)}, ""}}};
}

// Groups of very different size: some have no rows, some have several clusters.
std::uint64_t rows_of(std::int64_t key) {
    auto const number = static_cast<std::uint64_t>(key + 1000);
    return number % 7 == 0 ? 0 : number * 37 % 101 + (number % 50 == 7 ? 6000 : 0);
}

void fill(WorkUnit& unit, std::int64_t key) {
    for (std::uint64_t row = 0; row < rows_of(key); row += 13) {
        auto const rows = std::min<std::uint64_t>(13, rows_of(key) - row);
        std::vector<std::int64_t> keys(rows, key);
        std::vector<std::uint64_t> lengths;
        std::vector<std::uint16_t> hits;
        for (auto i = row; i < row + rows; ++i) {
            lengths.push_back(i % 5);
            for (std::uint64_t hit = 0; hit < i % 5; ++hit)
                hits.push_back(static_cast<std::uint16_t>(static_cast<std::uint64_t>(key * 3) + i * hit));
        }
        std::span<std::byte const> const columns[] = {std::as_bytes(std::span(keys)), std::as_bytes(std::span(lengths)),
                                                      std::as_bytes(std::span(hits))};
        unit["events"].append(rows, columns);
    }
    if (rows_of(key) % 2 == 0) return;
    std::span<std::byte const> const columns[] = {std::as_bytes(std::span(&key, 1))};
    unit["sums"].append(1, columns);
}

bool do_group(WorkUnits& units, std::int64_t group) {
    auto unit = units.begin_group(group);
    for (auto key = group * std::int64_t{kKeysPerGroup}; group_of(key, kKeysPerGroup) == group; ++key) {
        if (key % 11 == 3) continue; // keys may be missing
        unit.next_key(key, "of " + std::to_string(key));
        fill(unit, key);
    }
    return unit.commit();
}

CreateOptions options(std::uint64_t memory_bytes = 256 << 10) {
    CreateOptions options;
    options.keys_per_group = kKeysPerGroup;
    options.layout.narrow_page_bytes = 4096;
    options.layout.cluster_bytes = 32 << 10;
    options.write.extent_bytes = 16 << 10;
    options.write.staging.memory_bytes = memory_bytes;
    options.commit.flush_interval_ns = 20'000'000;
    return options;
}

// Returns the stored bytes of the pages of each column of each table, in their order.
std::vector<std::string> page_bytes(std::string const& path) {
    auto const reader = Reader::open(path);
    std::ifstream file(path, std::ios::binary);
    std::vector<std::string> columns;
    for (auto const& table : reader->tables()) {
        for (auto const& column : table.columns) {
            auto& bytes = columns.emplace_back();
            for (auto const& page : column.pages) {
                std::string stored(page.stored_bytes, 0);
                file.seekg(static_cast<std::streamoff>(page.offset));
                file.read(stored.data(), static_cast<std::streamsize>(stored.size()));
                bytes += std::to_string(page.count) + ":" + stored;
            }
        }
    }
    return columns;
}

void expect_in_order(std::string const& path) {
    auto const reader = Reader::open(path);
    std::vector<std::int64_t> keys(reader->rows(0)), expected;
    reader->read(0, 0, {0, keys.size()}, std::as_writable_bytes(std::span(keys)));
    std::vector<std::int64_t> told;
    std::uint64_t row = 0;
    for (auto const& unit : reader->units()) {
        told.push_back(unit.key.integer);
        EXPECT_EQ(unit.summary, "of " + std::to_string(unit.key.integer));
        for (auto const& range : unit.ranges) {
            if (range.table != 0) continue;
            EXPECT_EQ(range.first_row, row);
            EXPECT_EQ(range.rows, rows_of(unit.key.integer));
            row += range.rows;
        }
        expected.insert(expected.end(), rows_of(unit.key.integer), unit.key.integer);
    }
    EXPECT_EQ(keys, expected);
    std::vector<std::int64_t> all;
    for (auto key = kFirstGroup * std::int64_t{kKeysPerGroup};
         key < (kFirstGroup + kGroups) * std::int64_t{kKeysPerGroup}; ++key) {
        if (key % 11 != 3) all.push_back(key);
    }
    EXPECT_EQ(told, all);
}

class Ordered : public ::testing::Test {
  protected:
    void SetUp() override {
        if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    }

    // So many processes, each of which begins elsewhere; `kills` of them are killed, and others do the rest.
    std::string write(int processes, int kills) {
        auto const path = directory.file("run" + std::to_string(processes) + "-" + std::to_string(kills) + ".root");
        // With other memory each time: it must not say where a page or a cluster ends.
        auto const writer =
            Writer::create(path, schema(), options(static_cast<std::uint64_t>(processes * processes) << 16));
        auto const handle = writer->handle();
        auto const start = [&](std::int64_t seed) {
            auto const child = ::fork();
            if (child != 0) return child;
            try {
                WorkUnits units(attach(handle));
                for (std::int64_t i = 0; i < kGroups; ++i) {
                    auto const group = kFirstGroup + (i * 7 + seed * 11) % kGroups;
                    if (!units.is_group_committed(group)) do_group(units, group);
                }
                units.finish();
            } catch (std::exception const& error) {
                std::fprintf(stderr, "%s\n", error.what());
                ::_exit(1);
            }
            ::_exit(0);
        };
        for (int kill = 0; kill < kills; ++kill) {
            auto const child = start(kill);
            ::usleep(static_cast<useconds_t>(1'000 + 3'000 * kill));
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
        }
        std::vector<pid_t> children;
        for (int i = 0; i < processes; ++i) children.push_back(start(100 + i));
        for (auto const child : children) {
            int status = 0;
            ::waitpid(child, &status, 0);
            EXPECT_EQ(status, 0);
        }
        auto const report = writer->close(kTimeoutNs).report;
        EXPECT_EQ(report.units_lost, 0u);
        return path;
    }

    Directory directory;
};

TEST_F(Ordered, PagesHaveTheSameBytesForAnyNumberOfWorkers) {
    auto const alone = write(1, 0);
    expect_in_order(alone);
    auto const bytes = page_bytes(alone);
    for (auto const& [processes, kills] : {std::pair(2, 0), std::pair(4, 0), std::pair(2, 6), std::pair(4, 12)}) {
        auto const path = write(processes, kills);
        expect_in_order(path);
        EXPECT_EQ(page_bytes(path), bytes) << processes << " processes, " << kills << " kills";
    }
}

TEST_F(Ordered, IsTheSameAfterEverythingWasKilledAndResumed) {
    auto const bytes = page_bytes(write(1, 0));
    auto const path = directory.file("killed.root");
    for (int round = 0;; ++round) {
        ASSERT_LT(round, 100);
        auto const child = ::fork();
        if (child == 0) {
            auto const run =
                round == 0 ? Writer::create(path, schema(), options()) : Writer::resume(path, {}, options());
            for (std::int64_t i = 0; i < kGroups; ++i) {
                auto const group = kFirstGroup + (i * 7 + round) % kGroups;
                if (run->work_units().is_group_committed(group)) continue;
                if (!do_group(run->work_units(), group)) ::_exit(1);
                if (i % 10 == 9 && round < 4) ::kill(::getpid(), SIGKILL);
            }
            if (round < 5) ::kill(::getpid(), SIGKILL);
            run->close(kTimeoutNs);
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) continue;
        EXPECT_EQ(WEXITSTATUS(status), 0);
        break;
    }
    expect_in_order(path);
    EXPECT_EQ(page_bytes(path), bytes);
}

TEST_F(Ordered, IsSeenInOrderWhileItIsWritten) {
    auto const path = directory.file("open.root");
    auto const writer = Writer::create(path, schema(), options());
    for (auto const group : {4, 2, 3}) EXPECT_TRUE(do_group(writer->work_units(), group));
    while (writer->status().units_not_durable > 0) ::usleep(1000);
    auto const reader = Reader::open(path);
    std::vector<std::int64_t> keys;
    for (auto const& unit : reader->units()) keys.push_back(unit.key.integer);
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
    EXPECT_EQ(keys.front(), 10);
    EXPECT_EQ(keys.back(), 24);
    EXPECT_TRUE(writer->is_committed(std::int64_t{10}));
    EXPECT_FALSE(writer->is_committed(std::int64_t{14})) << "it was not in its group";
    EXPECT_FALSE(do_group(writer->work_units(), 3)) << "it was committed before";
    EXPECT_EQ(writer->work_units().committed_keys().size(), keys.size());
    writer->close(kTimeoutNs);
}

TEST_F(Ordered, GoesOnInAnotherFileWhereGroupsAreKnownAfterAResume) {
    auto const second_path = directory.file("second.root");
    auto plain = options();
    plain.keys_per_group = 0; // as the file before it
    {
        auto const first = Writer::create(directory.file("first.root"), schema(), options());
        EXPECT_TRUE(do_group(first->work_units(), 4));
        auto const second = first->create_next(second_path, plain, {});
        first->continue_in(*second);
        EXPECT_FALSE(do_group(first->work_units(), 4));
        EXPECT_TRUE(do_group(second->work_units(), 3));
        auto other = options();
        other.keys_per_group = 6;
        EXPECT_NE(message_of([&] { second->create_next(directory.file("x.root"), other, {}); }).find("groups of 5"),
                  std::string::npos);
        first->close(kTimeoutNs);
        second->abandon();
    }
    auto const second = Writer::resume(second_path, {}, plain);
    auto& units = second->work_units();
    EXPECT_TRUE(units.is_group_committed(3) && units.is_group_committed(4));
    EXPECT_TRUE(units.is_committed(std::int64_t{20})) << "of the file before";
    EXPECT_TRUE(units.is_committed(std::int64_t{15}));
    EXPECT_FALSE(units.is_committed(std::int64_t{10}));
    EXPECT_FALSE(do_group(units, 4));
    EXPECT_TRUE(do_group(units, 2));
    EXPECT_EQ(units.committed_keys().size(), 14u); // 14 is in no group
    second->close(kTimeoutNs);
    std::vector<std::int64_t> keys;
    for (auto const& unit : Reader::open(second_path)->units()) keys.push_back(unit.key.integer);
    EXPECT_EQ(keys, (std::vector<std::int64_t>{10, 11, 12, 13, 15, 16, 17, 18, 19}));
}

TEST_F(Ordered, WhatDoesNotFitIsRefused) {
    auto const why = message_of([&] { Writer::create(directory.file("run.h5"), schema(), options()); });
    EXPECT_NE(why.find("10,000 of them take 5.3 s"), std::string::npos) << why;
    EXPECT_FALSE(std::filesystem::exists(directory.file("run.h5")));
    auto const writer = Writer::create(directory.file("run.root"), schema(), options());
    EXPECT_NE(message_of([&] { writer->producer("events"); }).find("order of keys"), std::string::npos);
    EXPECT_NE(message_of([&] { writer->work_unit(std::int64_t{3}); }).find("groups of 5 keys"), std::string::npos);
    EXPECT_NE(message_of([&] { writer->work_unit(std::string("three")); }).find("give an integer"), std::string::npos);
    auto group = writer->work_units().begin_group(-1);
    EXPECT_NE(message_of([&] { group["events"]; }).find("not known of which unit"), std::string::npos);
    EXPECT_NE(message_of([&] { group.next_key(0); }).find("not of group -1 (the keys -5 to -1)"), std::string::npos);
    group.next_key(-3);
    EXPECT_NE(message_of([&] { group.next_key(-4); }).find("ascend"), std::string::npos);
    group.drop();
    writer->close(kTimeoutNs);
    auto const plain = Writer::create(directory.file("plain.root"), schema(), {});
    EXPECT_NE(message_of([&] { plain->work_units().begin_group(1); }).find("not ordered"), std::string::npos);
}

} // namespace
} // namespace thalweg::dataset
