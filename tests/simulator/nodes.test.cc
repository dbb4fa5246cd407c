// Tests failures that were found between nodes of a run.
#include <fmt/format.h>
#include <set>

#include "tests/simulator/nodes_run.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::simulator {
namespace {

using namespace testing;

INSTANTIATE_TEST_SUITE_P(Simulator, EveryNodes, ::testing::Values(Container::hdf5, Container::rntuple), name_of);

// The first node stops as soon as it has told the others that the run begins.
TEST_P(EveryNodes, WhatOneCallsDurableSurvivesAPowerCut) {
    NodesRun run(GetParam(), 2, true);
    bool done = false;
    run.start(0, [&] { run.come(0); });
    run.start(1, [&] {
        auto const writer = run.come(1);
        auto const producer = NodesRun::append(*writer);
        NodesRun::wait_until_durable(*writer);
        done = true;
        base::sleep_ns(kNever / 2);
    });
    run.play([&] {
        if (run.has_begun()) run.world->stop_machine(0, 600'000'000'000);
        return done;
    });
    run.cut_power();
    run.recover_on(1);
    EXPECT_EQ(run.rows_of(1), kRows);
}

// The others have seen its journal, which was not durable yet.
TEST_P(EveryNodes, OneThatIsLostWhenTheRunBeginsCostsNoRowsOfOthers) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        NodesRun run(GetParam(), 3, false, {.longest_sync_ns = 100'000'000}, seed);
        int done = 0;
        for (std::uint32_t node = 0; node < 3; ++node) {
            run.start(node, [&, node] {
                auto const writer = run.come(node);
                auto const producer = NodesRun::append(*writer);
                NodesRun::wait_until_durable(*writer);
                ++done;
                base::sleep_ns(kNever / 2);
            });
        }
        bool is_lost = false;
        run.play([&] {
            if (run.has_begun() && !is_lost) run.world->kill_machine(2, kNothing);
            is_lost = is_lost || run.has_begun();
            return done == 2;
        });
        run.end();
        run.recover_on(0);
        EXPECT_EQ(run.rows_of(0), kRows) << seed;
        EXPECT_EQ(run.rows_of(1), kRows) << seed;
    }
}

// The node learns that its creation has failed when the others have completed the file, or are writing it.
TEST_P(EveryNodes, ACreatorThatComesBackRemovesNothing) {
    NodesRun run(GetParam(), 2, true);
    bool has_failed = false;
    run.start(0, [&] { has_failed = fails([&] { run.come(0); }); });
    run.start(1, [&] {
        auto const writer = run.come(1);
        NodesRun::append(*writer).finish();
        writer->close(60'000'000'000);
    });
    bool was_stopped = false;
    run.play([&] {
        if (run.has_begun() && !was_stopped) run.world->stop_machine(0, 60'000'000'000);
        was_stopped = was_stopped || run.has_begun();
        return false;
    });
    EXPECT_TRUE(has_failed);
    EXPECT_EQ(run.rows_of(1), kRows);
}

// The rows that the returning node reports as durable are in the file, or the node learns that its writing no longer
// counts. Its region lies behind all others, and it has much to write.
TEST_P(EveryNodes, OneThatComesBackAfterARecoveryWritesNothingIntoTheFile) {
    for (std::uint64_t const more : {1u, 20u, 100u}) {
        NodesRun run(GetParam(), 2, false);
        bool is_stopped = false, is_recovered = false;
        std::uint64_t called_durable = 0;
        run.start(1, [&] {
            auto const writer = run.come(1);
            auto producer = NodesRun::append(*writer);
            NodesRun::wait_until_durable(*writer);
            called_durable = kRows;
            is_stopped = true;
            base::sleep_ns(1'000'000);
            try {
                for (auto first = kRows; first < kRows + more; ++first) NodesRun::append_to(producer, 1, 1, first);
                auto const appended_ns = base::monotonic_ns();
                for (int i = 0; i < 3000; ++i) {
                    auto const now = base::monotonic_ns();
                    if (now - writer->status().durable_lag_ns > appended_ns) called_durable = kRows + more;
                    base::sleep_ns(1'000'000);
                }
            } catch (base::Error const&) {
            }
        });
        run.start(0, [&] {
            auto const writer = run.come(0);
            NodesRun::append(*writer).finish();
            EXPECT_THROW(writer->close(60'000'000'000), base::Error);
            dataset::recover(run.path, {.all_nodes_are_down = true});
            is_recovered = true;
        });
        run.play([&] {
            if (is_stopped && !is_recovered) run.world->stop_machine(1, 1'000'000'000);
            return false;
        });
        EXPECT_EQ(run.rows_of(0), kRows);
        EXPECT_EQ(run.rows_of(1), kRows);
        EXPECT_EQ(called_durable, kRows);
    }
}

// Its machine still held pages when all processes died, and loses its power after the recovery on another machine.
TEST_P(EveryNodes, WhatARecoveryHasFoundSurvivesTheLossOfOthers) {
    NodesRun run(GetParam(), 2, false);
    run.options.commit.flush_interval_ns = 3'600'000'000'000;
    int done = 0;
    for (std::uint32_t node = 0; node < 2; ++node) {
        run.start(node, [&, node] {
            auto const writer = run.come(node);
            auto const producer = NodesRun::append(*writer, 400);
            base::sleep_ns(100'000'000); // its pages are announced, but not synced
            ++done;
            base::sleep_ns(kNever / 2);
        });
    }
    run.play([&] { return done == 2; });
    run.end();
    run.recover_on(0);
    auto const rows = run.rows_of(1);
    run.cut_power();
    EXPECT_EQ(run.rows_of(1), rows);
    EXPECT_GT(rows, 0);
}

// The machine of the first node stands still while the run is recovered, so that what it did not sync is seen. Then it
// loses its power, so many turns after the recovery has begun. Returns how many of its rows count.
std::uint64_t rows_of_one_that_dies_in_a_recovery(NodesRun& run, bool is_in_pages, std::uint64_t turns) {
    run.options.journal.main_rows_bytes = 0;
    if (is_in_pages) run.options.commit.flush_interval_ns = 3'600'000'000'000;
    bool is_there = false, is_stopped = false;
    run.start(0, [&] {
        auto const writer = run.come(0);
        auto const producer = NodesRun::append(*writer, is_in_pages ? 100 : 1);
        base::sleep_ns(100'000'000);
        is_there = true;
        base::sleep_ns(kNever / 2);
    });
    run.start(1, [&] {
        auto const writer = run.come(1);
        NodesRun::append(*writer).finish();
        while (!is_stopped) base::sleep_ns(1'000'000);
        writer->abandon();
        dataset::recover(run.path, {.all_nodes_are_down = true});
    });
    std::uint64_t stops = kNever, dies = kNever;
    run.play([&] {
        auto& world = *run.world;
        // While it syncs its journal, in which the row is by then.
        if (stops == kNever && run.has("node-0001.journal.1")) stops = world.turns() + 20;
        bool const is_time = is_in_pages ? is_there : world.turns() >= stops;
        if (is_time && !is_stopped) world.stop_machine(0, 600'000'000'000);
        is_stopped = is_stopped || is_time;
        if (dies == kNever && run.has("recovering")) dies = world.turns() + turns;
        if (world.turns() == dies) world.kill_machine(0, kNothing);
        return false;
    });
    return run.rows_of(0);
}

constexpr Weather kSlowSync{.steps_per_turn = 30, .longest_sync_ns = 100'000'000};

TEST_P(EveryNodes, OneThatIsLostDuringARecoveryLeavesNoDamagedPage) {
    std::set<bool> counts;
    for (std::uint64_t turns = 0; turns < 700 && !HasFailure(); turns += 20) {
        NodesRun run(GetParam(), 2, false, kSlowSync);
        counts.insert(rows_of_one_that_dies_in_a_recovery(run, true, turns) > 0);
        EXPECT_EQ(run.rows_of(1), kRows) << turns;
    }
    EXPECT_EQ(counts.size(), 2) << "it dies early enough, or late enough";
}

TEST_P(EveryNodes, OneThatIsLostDuringARecoveryTakesItsJournalAlong) {
    std::set<bool> counts;
    for (std::uint64_t turns = 0; turns < 100 && !HasFailure(); turns += 2) {
        NodesRun run(GetParam(), 2, false, kSlowSync);
        counts.insert(rows_of_one_that_dies_in_a_recovery(run, false, turns) > 0);
        EXPECT_EQ(run.rows_of(1), kRows) << turns;
    }
    EXPECT_EQ(counts.size(), 2) << "it dies early enough, or late enough";
}

// What they allocate ahead of their rows is together no more than what one node would.
TEST_P(EveryNodes, ManyShareASmallDisk) {
    constexpr std::uint64_t kDiskBytes = 800 << 20;
    for (std::uint32_t const nodes : {2u, 8u}) {
        NodesRun run(GetParam(), nodes, false, {.disk_bytes = kDiskBytes});
        run.options.commit.allocate_ahead_bytes = 256 << 20;
        std::uint64_t ahead = 0;
        for (std::uint32_t node = 0; node < nodes; ++node) {
            run.start(node, [&, node] {
                auto const writer = run.come(node);
                dataset::RunPlace const place(run.path, {node, nodes});
                auto const knobs = dataset::read_head(place.open_journal(storage::OpenMode::read_only)).knobs;
                tuning::Tuning tuning;
                tuning::set(tuning, "allocate_ahead_bytes", knobs.at("allocate_ahead_bytes"));
                ahead += tuning.commit.allocate_ahead_bytes;
                writer->close(60'000'000'000);
            });
        }
        run.play();
        EXPECT_LE(ahead, kDiskBytes / 8) << nodes;
        EXPECT_GE(ahead, kDiskBytes / 10) << nodes;
    }
}

// Rows of slow streams, which wait in the journal for their page. The second node keeps to the same limits as the
// first.
TEST_P(EveryNodes, JournalsOfAllAreSmallOnASmallDisk) {
    NodesRun run(GetParam(), 2, false, {.disk_bytes = 64 << 20});
    for (std::uint32_t node = 0; node < 2; ++node) {
        run.start(node, [&, node] {
            auto const writer = run.come(node);
            auto producer = writer->producer("t");
            for (std::uint64_t row = 0; row < 40; ++row) {
                NodesRun::append_to(producer, node, 1, row);
                NodesRun::wait_until_durable(*writer);
            }
            producer.finish();
            writer->close(60'000'000'000);
        });
    }
    bool has_segment[2] = {false, false};
    run.play([&] {
        for (std::uint32_t node = 0; node < 2; ++node)
            has_segment[node] = has_segment[node] || run.has(fmt::format("node-{:04}.journal.1", node + 1));
        return false;
    });
    EXPECT_TRUE(has_segment[0]);
    EXPECT_TRUE(has_segment[1]);
    EXPECT_EQ(run.rows_of(1), 40);
}

// Less is allocated ahead then. The regions of the nodes stay where they lay.
TEST_P(EveryNodes, AreResumedOnADiskThatIsFuller) {
    NodesRun run(GetParam(), 2, false);
    run.options.commit.allocate_ahead_bytes = 64 << 20;
    int done = 0;
    for (std::uint32_t node = 0; node < 2; ++node) {
        run.start(node, [&, node] {
            auto const writer = run.come(node);
            auto const producer = NodesRun::append(*writer);
            NodesRun::wait_until_durable(*writer);
            ++done;
            base::sleep_ns(kNever / 2);
        });
    }
    run.play([&] { return done == 2; });
    run.end();
    run.world->weather.disk_bytes = run.world->disk.used_bytes() + (100 << 20);
    for (std::uint32_t node = 0; node < 2; ++node) {
        run.start(node, [&, node] {
            dataset::JoinOptions returning;
            returning.timeout_ns = kTimeoutNs;
            returning.resume = true;
            auto const writer = node == 0 ? dataset::Writer::resume(run.path, {}, run.options)
                                          : dataset::Writer::join(run.path, node, returning);
            NodesRun::append(*writer, kRows, kRows).finish();
            writer->close(60'000'000'000);
        });
    }
    run.play();
    EXPECT_EQ(run.rows_of(0), 2 * kRows);
    EXPECT_EQ(run.rows_of(1), 2 * kRows);
}

// No other node has looked at the folder since it took a region there.
TEST_P(EveryNodes, ARegionOfADeadOneIsNotTakenAgain) {
    NodesRun run(GetParam(), 2, true);
    bool is_durable = false, is_dead = false;
    run.start(0, [&] {
        auto const writer = run.come(0);
        while (!is_dead) base::sleep_ns(1'000'000);
        NodesRun::append(*writer, 400).finish(); // 12.8 MB, of regions of 8 MiB
        writer->close(60'000'000'000);
    });
    run.start(1, [&] {
        auto const writer = run.come(1);
        auto const producer = NodesRun::append(*writer);
        NodesRun::wait_until_durable(*writer);
        is_durable = true;
        base::sleep_ns(kNever / 2);
    });
    run.play([&] {
        if (is_durable && !is_dead) run.world->kill_machine(1, kNothing);
        is_dead = is_dead || is_durable;
        return false;
    });
    EXPECT_EQ(run.rows_of(0), 400);
    EXPECT_EQ(run.rows_of(1), kRows);
}

// Rows wait in a later segment of a journal, of which a power cut has taken the beginning. When the run goes on, the
// node says how much of its journal is damaged, and the process that completes the file sees as much.
TEST_P(EveryNodes, ADamagedSegmentDoesNotKeepAResumedRunFromItsEnd) {
    NodesRun run(GetParam(), 2, false);
    run.options.journal.main_rows_bytes = 0;
    int done = 0;
    for (std::uint32_t node = 0; node < 2; ++node) {
        run.start(node, [&, node] {
            auto const writer = run.come(node);
            auto const producer = NodesRun::append(*writer, node == 0 ? 1 : kRows);
            NodesRun::wait_until_durable(*writer);
            ++done;
            base::sleep_ns(kNever / 2);
        });
    }
    run.play([&] { return done == 2; });
    ASSERT_TRUE(run.has("node-0001.journal.1"));
    run.end([&](DiskState& disk, MemoryState& memory, std::vector<Machine>& machines) {
        disk.write(*disk.find(run.path + ".parts/node-0001.journal.1"), 0, std::vector<std::byte>(8192));
        memory.clear();
        for (auto& machine : machines) machine.boot += "'";
    });
    for (std::uint32_t node = 0; node < 2; ++node) {
        run.start(node, [&, node] {
            dataset::JoinOptions returning;
            returning.timeout_ns = kTimeoutNs;
            returning.resume = true;
            auto const writer = node == 0 ? dataset::Writer::resume(run.path, {}, run.options)
                                          : dataset::Writer::join(run.path, node, returning);
            writer->close(60'000'000'000);
        });
    }
    run.play();
    EXPECT_EQ(run.rows_of(1), kRows);
}

TEST_P(EveryNodes, AKeyOfADeadOneIsNotTakenAgain) {
    NodesRun run(GetParam(), 2, true);
    run.options.nodes.rules.keys_together = 1;
    bool is_durable = false, is_dead = false, was_committed_again = false;
    run.start(0, [&] {
        auto const writer = run.come(0);
        while (!is_dead) base::sleep_ns(1'000'000);
        {
            auto unit = writer->work_unit(5);
            NodesRun::append_to(unit["t"], 0, 3);
            was_committed_again = unit.commit();
        }
        writer->close(60'000'000'000);
    });
    run.start(1, [&] {
        auto const writer = run.come(1);
        auto unit = writer->work_unit(5);
        NodesRun::append_to(unit["t"], 1, kRows);
        EXPECT_TRUE(unit.commit());
        writer->work_units().finish();
        NodesRun::wait_until_durable(*writer);
        is_durable = true;
        base::sleep_ns(kNever / 2);
    });
    run.play([&] {
        if (is_durable && !is_dead) run.world->kill_machine(1, kNothing);
        is_dead = is_dead || is_durable;
        return false;
    });
    EXPECT_FALSE(was_committed_again);
    EXPECT_EQ(run.found().units, std::vector<std::int64_t>{5});
    EXPECT_EQ(run.rows_of(1), kRows);
}

} // namespace
} // namespace thalweg::simulator
