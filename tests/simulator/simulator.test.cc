// Tests the simulator itself: it repeats what it did, and finds what is broken on purpose.
#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <set>
#include <tuple>

#include "tests/simulator/campaign.h"
#include "tests/simulator/testing.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/recover.h"

namespace thalweg::simulator {
namespace {

DiskState with_a_durable_file(Bytes const& content) {
    DiskState disk;
    auto const inode = disk.create("/run/a");
    disk.write(inode, 0, content);
    disk.end_sync(inode, disk.moment++, false);
    disk.sync_names(1, "/run");
    return disk;
}

TEST(Image, CopiesPartWhenOneIsWritten) {
    Image first;
    first.write(4000, filled(200, 7));
    auto second = first;
    second.write(4095, filled(2, 9));
    EXPECT_EQ(bytes_of(first)[4095], std::byte{7});
    EXPECT_EQ(bytes_of(second)[4096], std::byte{9});
    second.resize(4096);
    second.resize(4200);
    EXPECT_EQ(bytes_of(second)[4096], std::byte{0});
    EXPECT_FALSE(first.same_bytes(second));
}

TEST(Disk, APowerCutLeavesWhatWasSyncedAndAnySectorsOfTheRest) {
    auto disk = with_a_durable_file(filled(2048, 1));
    auto const inode = *disk.find("/run/a");
    disk.write(inode, 0, filled(2048, 2));
    std::set<int> counts;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Random random(seed);
        auto const after = after_power_cut(disk, {.share = 0.5}, random);
        auto const bytes = bytes_of(after.files.at(inode).cache);
        ASSERT_EQ(bytes.size(), 2048u);
        int count = 0;
        for (std::size_t sector = 0; sector < 4; ++sector) {
            auto const begin = bytes.begin() + static_cast<std::ptrdiff_t>(sector * 512);
            Bytes const content(begin, begin + 512);
            ASSERT_TRUE(content == filled(512, 1) || content == filled(512, 2));
            count += content[0] == std::byte{2};
        }
        counts.insert(count);
    }
    EXPECT_EQ(counts, (std::set<int>{0, 1, 2, 3, 4}));
}

TEST(Disk, ASyncCoversWhatHadEndedWhenItBegan) {
    auto disk = with_a_durable_file(filled(512, 1));
    auto const inode = *disk.find("/run/a");
    disk.write(inode, 0, filled(512, 2));
    auto const begin = disk.moment++;
    disk.write(inode, 512, filled(512, 3));
    disk.end_sync(inode, begin, false);
    Random random(1);
    auto const after = after_power_cut(disk, {.share = 0}, random);
    EXPECT_EQ(bytes_of(after.files.at(inode).cache), filled(512, 2));
}

TEST(Disk, ANameIsLostUntilItsDirectoryIsSynced) {
    auto disk = with_a_durable_file(filled(1, 1));
    disk.create("/run/b");
    disk.set_name("/run/a", 0);
    Random random(1);
    EXPECT_EQ(after_power_cut(disk, {.share = 0}, random).names.size(), 1u);
    EXPECT_TRUE(after_power_cut(disk, {.share = 0}, random).names.contains("/run/a"));
    disk.sync_names(2, "/run");
    EXPECT_TRUE(after_power_cut(disk, {.share = 0}, random).names.contains("/run/b"));
    EXPECT_FALSE(after_power_cut(disk, {.share = 0}, random).names.contains("/run/a"));
}

// A process that syncs through a descriptor of its own does not hide the failure from others. A process that opens the
// file later is not told.
TEST(Disk, AFailedSyncIsToldToAllThatHaveTheFileOpen) {
    Workshop workshop;
    World world(workshop, 1, {.fail_sync = 0}, with_a_durable_file(filled(512, 1)), {}, 1'000'000'000, "boot");
    std::vector<int> codes;
    world.start_process([&] {
        auto const open = [] { return storage::open_file_storage("/run/a", storage::OpenMode::read_write); };
        auto const code_of_sync = [](storage::Storage& file) {
            try {
                file.sync();
                return 0;
            } catch (base::SystemError const& error) {
                return error.code;
            }
        };
        auto const one = open(), other = open();
        for (auto* const file : {one.get(), other.get(), other.get()}) codes.push_back(code_of_sync(*file));
        codes.push_back(code_of_sync(*open()));
    });
    world.run([] { return false; });
    EXPECT_EQ(codes, (std::vector<int>{EIO, EIO, EIO, 0}));
}

std::vector<std::string> blamed(Promises const& promises, std::vector<std::uint64_t> rows, Crash crash) {
    std::vector<std::string> texts;
    Found const found{{{{7, std::move(rows)}}}, {}};
    check_promises(promises, found, crash, [&](std::string const& text) { texts.push_back(text); });
    return texts;
}

// The producer gave 5 rows, of which 2 were durable when the power was cut. Then rows 0, 1 and 3 were found.
TEST(Promises, WhatWasThereWhenARunWasResumedStays) {
    Promises promises;
    promises.producers[7];
    promises.append_begins(7, 5);
    promises.append_returned(7, 5, 100);
    promises.producers[7].durable = 2;
    EXPECT_FALSE(blamed(promises, {0, 1, 3}, Crash::processes).empty());
    promises.power_was_cut();
    EXPECT_TRUE(blamed(promises, {0, 1, 3}, Crash::processes).empty());
    EXPECT_FALSE(blamed(promises, {0, 3}, Crash::processes).empty());
    promises.was_resumed({{{{7, {0, 1, 3}}}}, {}}, 200);
    EXPECT_TRUE(blamed(promises, {0, 1, 3}, Crash::processes).empty());
    EXPECT_FALSE(blamed(promises, {0, 1}, Crash::processes).empty());
    EXPECT_FALSE(blamed(promises, {0, 1, 2, 3}, Crash::processes).empty());
    EXPECT_TRUE(blamed(promises, {0, 1}, Crash::power).empty());
    EXPECT_FALSE(blamed(promises, {0, 1, 4}, Crash::power).empty());
    promises.status_said(300, 50); // everything older than 250
    EXPECT_FALSE(blamed(promises, {0, 1}, Crash::power).empty());
}

// Producers 5 and 6 are the units 8 and 9, a group that was committed; 7 is unit 2.
TEST(Promises, GroupsCountAsAWholeAndInTheirOrder) {
    Promises promises;
    for (auto const& [who, key, group] : {std::tuple{5u, 8, 5u}, {6u, 9, 5u}, {7u, 2, 7u}}) {
        promises.units[who] = {key, UnitPromise::State::committing, {{0, 1}}, 100, false, group};
    }
    auto const faults = [&](std::vector<std::uint64_t> const& order) {
        Found found{{{}}, {}, {order}, {{{5, {{0, 10}}}}}};
        for (auto const who : order) {
            found.tables[0][who] = {0};
            found.units.push_back(promises.units[who].key);
        }
        std::sort(found.units.begin(), found.units.end());
        std::vector<std::string> texts;
        check_promises(promises, found, Crash::power, [&](std::string const& text) { texts.push_back(text); });
        return texts;
    };
    EXPECT_EQ(faults({7, 5, 6}), std::vector<std::string>{});
    EXPECT_EQ(faults({5, 6}), std::vector<std::string>{});
    EXPECT_EQ(faults({7, 5}), std::vector<std::string>{"unit 9 (try 6): a part of its group is there"});
    EXPECT_EQ(faults({5, 6, 7}), std::vector<std::string>{"table 0: rows of unit 2 come behind those of 9"});
    promises.cuts = {{{5, {{0, 10}}}}};
    EXPECT_EQ(faults({5, 6}), std::vector<std::string>{});
    promises.cuts[0][5][0][1] = 20;
    EXPECT_EQ(faults({5, 6}).size(), 1u);
}

class EveryContainer : public ::testing::TestWithParam<Container> {};

TEST_P(EveryContainer, ASeedIsAWholeHistory) {
    Workshop workshop;
    std::set<std::uint64_t> traces;
    std::uint64_t resumed = 0, ordered = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        auto const once = run_history(workshop, GetParam(), seed, 3);
        auto const twice = run_history(workshop, GetParam(), seed, 3);
        ASSERT_EQ(once.trace, twice.trace) << seed;
        ASSERT_EQ(once.snapshots.size(), twice.snapshots.size()) << seed;
        traces.insert(once.trace);
        resumed += once.resumed;
        ordered += once.ordered;
    }
    EXPECT_EQ(traces.size(), 20u);
    EXPECT_GT(resumed, 3u);
    EXPECT_EQ(ordered > 2, GetParam() == Container::rntuple);
}

// Each sync may take as long as the disk likes. No flush comes in between.
TEST_P(EveryContainer, ACreationAndACloseTakeFewSyncs) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Workshop workshop;
        Random random(seed);
        auto scenario = draw_scenario(GetParam(), random);
        scenario.options.commit.flush_interval_ns = 3'600'000'000'000;
        std::uint64_t created = 0, before_close = 0, closed = 0;
        World world(workshop, seed, {}, {}, {}, 1'000'000'000, "boot");
        auto const syncs = [&] { return world.syncs + world.directory_syncs; };
        world.start_process([&] {
            auto const writer = dataset::Writer::create(scenario.path, scenario.schema, scenario.options);
            created = syncs();
            for (std::size_t table = 0; table < scenario.schema.tables.size(); ++table) {
                auto producer = writer->producer(scenario.schema.tables[table].name);
                Rows const data(producer.columns(), table, table, 0, 300);
                producer.append(300, data.spans());
                producer.finish();
            }
            before_close = syncs();
            writer->close(kNever);
            closed = syncs();
        });
        world.run([] { return false; });
        EXPECT_EQ(created, 2u);
        EXPECT_EQ(before_close, created);
        EXPECT_EQ(closed - before_close, GetParam() == Container::hdf5 ? 3u : 5u); // docs/decisions/0037
    }
}

// All processes are killed before the first flush. The run is resumed, reports its status, and the power fails.
TEST_P(EveryContainer, WhatAResumedRunCallsDurableSurvivesAPowerCut) {
    constexpr std::uint64_t kRows = 300;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        Workshop workshop;
        Random random(seed);
        auto scenario = draw_scenario(GetParam(), random);
        scenario.options.commit.flush_interval_ns = 3'600'000'000'000;
        Snapshot state{{}, {}, {}, 1'000'000'000, "boot"};
        auto const live = [&](std::function<void(bool&)> const& work) {
            bool done = false;
            World world(workshop, seed, {}, state.disk, state.memory, state.now_ns, state.boot);
            world.start_process([&] {
                work(done);
                done = true;
            });
            world.run([&] { return done; });
            EXPECT_EQ(world.faults(), std::vector<std::string>{});
            state = {world.disk, world.names.state(), {}, world.now_ns(), state.boot};
        };
        live([&](bool& done) {
            auto const writer = dataset::Writer::create(scenario.path, scenario.schema, scenario.options);
            auto producer = writer->producer(scenario.schema.tables[0].name);
            Rows const data(producer.columns(), 0, 0, 0, kRows);
            producer.append(kRows, data.spans());
            done = true;
            base::sleep_ns(kNever / 2);
        });
        state = stopped(state, Crash::processes, random);
        auto const died_ns = state.now_ns;
        live([&](bool& done) {
            auto const writer = dataset::Writer::resume(scenario.path, std::nullopt, scenario.options);
            auto const status = writer->status();
            EXPECT_GT(base::monotonic_ns() - status.durable_lag_ns, died_ns);
            done = true;
            base::sleep_ns(kNever / 2);
        });
        state.disk = after_power_cut(state.disk, {.share = 0}, random);
        state.memory.clear();
        state.boot = "next boot";
        live([&](bool&) {
            dataset::recover(scenario.path);
            EXPECT_EQ(dataset::Reader::open(scenario.path)->rows(0), kRows);
        });
    }
}

// The disk claims that the syncs of a file are done, and does nothing: code that skips a sync has the same effect.
TEST_P(EveryContainer, ADiskThatLiesIsFound) {
    for (std::string const file : {".journal", GetParam() == Container::hdf5 ? ".h5" : ".root"}) {
        CampaignOptions options;
        options.seconds = 60;
        options.histories = 60;
        options.container = GetParam();
        options.of_nodes = false;
        options.lying_file = file;
        options.findings = 4;
        auto const result = run_campaign(options);
        EXPECT_GE(result.findings.size(), 4u) << file;
    }
}

// A campaign of hours is usually ended by a signal.
TEST(Campaign, TellsAllThatItPlayedAlsoWhereItIsEnded) {
    CampaignOptions options;
    options.seconds = 3600;
    options.jobs = 2;
    Totals told;
    std::uint64_t times = 0;
    auto const result = run_campaign(options, [&](CampaignResult const& more) {
        told.add(more.all());
        if (++times == 1) ::raise(SIGTERM);
    });
    EXPECT_GE(times, 2u);
    EXPECT_GT(told.states, 0u);
    EXPECT_EQ(told.states, result.all().states);
    EXPECT_EQ(told.histories, result.all().histories);
}

INSTANTIATE_TEST_SUITE_P(Simulator, EveryContainer, ::testing::Values(Container::hdf5, Container::rntuple),
                         [](auto const& each) { return each.param == Container::hdf5 ? "hdf5" : "rntuple"; });

} // namespace
} // namespace thalweg::simulator
