// Tests several machines that share a disk, and histories of runs that they write.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <set>

#include "tests/simulator/campaign.h"
#include "tests/simulator/node_history.h"
#include "tests/simulator/testing.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/file_descriptor.h"

namespace thalweg::simulator {
namespace {

constexpr Survival kNothing{.share = 0};

TEST(SharedDisk, ASyncCoversWhatItsMachineHasWritten) {
    DiskState disk;
    auto const inode = disk.create("/run/a");
    for (std::uint32_t machine = 0; machine < 3; ++machine) {
        disk.machine = machine;
        disk.write(inode, machine * 512, filled(512, static_cast<int>(machine) + 1));
    }
    disk.machine = 1;
    disk.end_sync(inode, disk.moment++, false);
    disk.sync_names(1, "/run");
    Random random(1);
    lose_machine(disk, 1, kNothing, random);
    EXPECT_EQ(bytes_of(disk.files.at(inode).cache)[512], std::byte{2});
    EXPECT_EQ(bytes_of(disk.files.at(inode).cache)[1024], std::byte{3});
    lose_machine(disk, 2, kNothing, random);
    EXPECT_EQ(disk.files.at(inode).cache.size(), 1024);
    EXPECT_EQ(bytes_of(disk.files.at(inode).cache)[0], std::byte{1});
    lose_machine(disk, 0, kNothing, random);
    EXPECT_FALSE(disk.names.contains("/run/a")); // it was the first machine's, and synced by the second one
}

TEST(SharedDisk, WhatStaysOfADeadMachineIsAnyonesToSync) {
    DiskState disk;
    auto const inode = disk.create("/run/a");
    disk.sync_names(1, "/run");
    disk.machine = 1;
    disk.write(inode, 0, filled(1024, 1));
    Random random(1);
    lose_machine(disk, 1, {.share = 1}, random);
    EXPECT_EQ(bytes_of(after_power_cut(disk, kNothing, random).files.at(inode).cache), Bytes());
    disk.machine = 0;
    disk.end_sync(inode, disk.moment++, false);
    EXPECT_EQ(bytes_of(after_power_cut(disk, kNothing, random).files.at(inode).cache), filled(1024, 1));
}

TEST(SharedDisk, ANameThatAnotherMachineHasSeenStays) {
    DiskState disk;
    disk.machine = 1;
    disk.create("/run/seen");
    disk.create("/run/unseen");
    disk.machine = 0;
    disk.see("/run/seen");
    Random random(1);
    lose_machine(disk, 1, kNothing, random);
    EXPECT_TRUE(disk.names.contains("/run/seen"));
    EXPECT_FALSE(disk.names.contains("/run/unseen"));
    EXPECT_TRUE(after_power_cut(disk, kNothing, random).names.empty());
}

TEST(Machines, HaveMemoryProcessesLocksAndClocksOfTheirOwn) {
    Workshop workshop;
    World world(workshop, 1, {}, {}, {}, 1'000'000'000,
                {{.host = "a", .boot = "1"}, {.host = "b", .boot = "2", .clock_ns = 3'600'000'000'000}});
    base::ProcessId first{};
    std::vector<std::string> seen;
    std::uint64_t first_ns = 0;
    world.start_process([&] {
        first = base::this_process();
        world.create_memory("segment", 4096);
        first_ns = base::monotonic_ns();
        auto const file = base::open_file("/run/lock", O_CREAT | O_RDWR);
        EXPECT_TRUE(base::try_lock_file(file, "/run/lock", true));
        base::sleep_ns(1'000'000);
        EXPECT_TRUE(base::is_alive(first));
    });
    world.start_process(
        [&] {
            base::sleep_ns(500'000);
            EXPECT_FALSE(base::is_in_use(first.pid + 1));
            EXPECT_EQ(base::boot_id() + base::host_name(), "2b");
            EXPECT_TRUE(world.list_memory("seg").empty());
            EXPECT_GT(base::monotonic_ns(), first_ns + 3'600'000'000'000);
            auto const file = base::open_file("/run/lock", O_RDONLY);
            EXPECT_TRUE(base::try_lock_file(file, "/run/lock", true));
        },
        1);
    world.run([] { return false; });
    EXPECT_EQ(world.faults(), std::vector<std::string>{});
}

TEST(Machines, StandStillAndGoOn) {
    Workshop workshop;
    World world(workshop, 1, {}, {}, {}, 1'000'000'000, {{.boot = "1"}, {.boot = "2"}});
    std::vector<std::string> order;
    for (std::uint32_t machine = 0; machine < 2; ++machine) {
        world.start_process(
            [&, machine] {
                base::sleep_ns(1'000'000);
                order.push_back(base::boot_id());
            },
            machine);
    }
    world.stop_machine(0, 60'000'000'000);
    world.run([] { return false; });
    EXPECT_EQ(order, (std::vector<std::string>{"2", "1"}));
    EXPECT_GE(world.now_ns(), 60'000'000'000);
}

class EveryMachine : public ::testing::TestWithParam<Container> {};

INSTANTIATE_TEST_SUITE_P(Simulator, EveryMachine, ::testing::Values(Container::hdf5, Container::rntuple),
                         [](auto const& each) { return each.param == Container::hdf5 ? "hdf5" : "rntuple"; });

TEST_P(EveryMachine, ASeedIsAWholeHistory) {
    Workshop workshop;
    std::set<std::uint64_t> traces;
    std::uint64_t deaths = 0, stops = 0;
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
        auto const once = run_node_history(workshop, GetParam(), seed, 3);
        auto const twice = run_node_history(workshop, GetParam(), seed, 3);
        ASSERT_EQ(once.trace, twice.trace) << seed;
        ASSERT_EQ(once.snapshots.size(), twice.snapshots.size()) << seed;
        traces.insert(once.trace);
        deaths += once.deaths;
        stops += once.stops;
    }
    EXPECT_EQ(traces.size(), 15u);
    EXPECT_GT(deaths, 2u);
    EXPECT_GT(stops, 1u);
}

// The disk claims that the syncs of one node are done, and does nothing: code that skips a sync on one node has the
// same effect.
TEST_P(EveryMachine, ADiskThatLiesToOneIsFound) {
    for (std::string const file : {".journal", GetParam() == Container::hdf5 ? ".h5" : ".root"}) {
        CampaignOptions options;
        options.seconds = 60;
        options.histories = 60;
        options.container = GetParam();
        options.of_nodes = true;
        options.lying_file = file;
        options.lying_to = 1;
        options.findings = 2;
        auto const result = run_campaign(options);
        EXPECT_GE(result.findings.size(), 2u) << file;
    }
}

} // namespace
} // namespace thalweg::simulator
