// What has once gone wrong between nodes of a run.
#include <gtest/gtest.h>
#include <optional>

#include "tests/simulator/history.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::simulator {
namespace {

constexpr Survival kNothing{.share = 0};
constexpr std::uint64_t kRows = 50;
constexpr std::uint64_t kTimeoutNs = 1'200'000'000;

// A run of some nodes, each on a machine of its own, and what is done with it afterwards.
class NodesRun {
  public:
    NodesRun(Container container, std::uint32_t nodes, bool goes_on, Weather const& weather = {},
             std::uint64_t seed = 1)
        : path(std::string(kDirectory) + (container == Container::hdf5 ? "/run.h5" : "/run.root")) {
        model::Field const row{"row", model::Kind::scalar, model::Scalar::uint64, {}, {}, "", ""};
        model::Field wide = row;
        wide.name = "wide";
        wide.shape = {4000};
        schema = {{{"t", {row, wide}, ""}}};
        Random random(1);
        options = draw_scenario(container, random).options;
        options.layout.wide_codec = options.layout.narrow_codec = "none";
        options.commit.flush_interval_ns = 10'000'000;
        options.write.seal_threads = 0;
        options.nodes.nodes = nodes;
        options.nodes.timeout_ns = kTimeoutNs;
        options.nodes.rules.goes_on = goes_on;
        std::vector<Machine> machines;
        for (std::uint32_t node = 0; node < nodes; ++node)
            machines.push_back({.host = "host" + std::to_string(node), .boot = "boot" + std::to_string(node)});
        world.emplace(workshop, seed, weather, DiskState{}, MemoryState{}, 1'000'000'000, machines);
    }

    std::unique_ptr<dataset::Writer> come(std::uint32_t node) {
        if (node == 0) return dataset::Writer::create(path, schema, options);
        dataset::JoinOptions joining;
        joining.timeout_ns = kTimeoutNs;
        return dataset::Writer::join(path, node, joining);
    }

    // Its name in the rows is the node's.
    static dataset::Producer append(dataset::Writer& writer, std::uint64_t rows = kRows, std::uint64_t first = 0) {
        auto producer = writer.producer("t");
        append_to(producer, writer.node().node, rows, first);
        return producer;
    }

    static void append_to(dataset::Producer& producer, std::uint64_t who, std::uint64_t rows, std::uint64_t first = 0) {
        Rows const data(producer.columns(), 0, who, first, rows);
        producer.append(rows, data.spans());
    }

    static void wait_until_durable(dataset::Writer const& writer) {
        auto const appended_ns = base::monotonic_ns();
        while (true) {
            auto const now = base::monotonic_ns();
            auto const status = writer.status();
            if (now - status.durable_lag_ns > appended_ns && status.units_not_durable == 0) return;
            base::sleep_ns(1'000'000);
        }
    }

    void start(std::uint32_t machine, std::function<void()> work) { world->start_process(std::move(work), machine); }

    void play(std::function<bool()> const& between_turns = [] { return false; }) {
        world->run(between_turns);
        EXPECT_EQ(world->faults(), std::vector<std::string>{});
    }

    bool has(std::string const& name) { return world->disk.find(path + ".parts/" + name) != nullptr; }

    // The others can read it.
    bool has_begun() {
        auto const* const inode = world->disk.find(path + ".parts/begun");
        if (inode == nullptr) return false;
        auto const& image = world->disk.files.at(*inode).cache;
        std::byte last{};
        if (image.size() > 0) image.read(image.size() - 1, {&last, 1});
        return last == std::byte{'\n'};
    }

    // All processes are gone. `change` is what happens to the disk and the machines then.
    void end(std::function<void(DiskState&, MemoryState&, std::vector<Machine>&)> const& change = {}) {
        Random random(1);
        auto machines = world->machines();
        for (auto& machine : machines) machine.stopped_until_ns = 0;
        auto disk = after_death(world->disk, world->now_ns() + 1'000'000'000, random);
        auto memory = world->names.state();
        if (change) change(disk, memory, machines);
        auto const now_ns = world->now_ns() + 1'000'000'000;
        world.emplace(workshop, 2, Weather{}, disk, memory, now_ns, machines);
    }

    void cut_power() {
        end([](DiskState& disk, MemoryState& memory, std::vector<Machine>& machines) {
            Random random(1);
            disk = after_power_cut(disk, kNothing, random);
            memory.clear();
            for (auto& machine : machines) machine.boot += "'";
        });
    }

    void recover_on(std::uint32_t machine) {
        start(machine, [this] { dataset::recover(path, {.all_nodes_are_down = true}); });
        play();
    }

    // Rows by node, and keys; nothing where a value is wrong.
    Found found() {
        Found found;
        start(0, [&] {
            auto const reader = dataset::Reader::open(path);
            World::Undivided const undivided(*world);
            EXPECT_FALSE(reader->is_open_run());
            found = read_all(*reader, [&](std::string const& text) { world->blame(text); });
        });
        play();
        return found;
    }

    std::uint64_t rows_of(std::uint64_t who) {
        auto const all = found();
        auto const place = all.tables.empty() ? FoundRows::const_iterator{} : all.tables[0].find(who);
        return all.tables.empty() || place == all.tables[0].end() ? 0 : place->second.size();
    }

    Workshop workshop;
    std::string path;
    model::Schema schema;
    dataset::CreateOptions options;
    std::optional<World> world;
};

bool fails(std::function<void()> const& work) {
    try {
        work();
        return false;
    } catch (base::Error const&) {
        return true;
    }
}

class EveryNodes : public ::testing::TestWithParam<Container> {};

INSTANTIATE_TEST_SUITE_P(Simulator, EveryNodes, ::testing::Values(Container::hdf5, Container::rntuple),
                         [](auto const& each) { return each.param == Container::hdf5 ? "hdf5" : "rntuple"; });

// The first node stands still as soon as it has told the others that the run begins.
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

// It hears that its creation has failed when the others have completed the file, or are writing it.
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

// All is finished; who completes the file stands still in the middle of that, somebody recovers the run, and it goes
// on.
TEST_P(EveryNodes, OneThatComesBackWhileItCompletesTheFileChangesNothing) {
    for (std::uint64_t turns = 0; turns < 10; ++turns) {
        NodesRun run(GetParam(), 2, false, {.steps_per_turn = 30});
        for (std::uint32_t node = 0; node < 2; ++node) {
            run.start(node, [&, node] {
                auto const writer = run.come(node);
                NodesRun::append(*writer).finish();
                try {
                    writer->close(60'000'000'000);
                } catch (base::Error const&) {
                    if (node == 1) dataset::recover(run.path, {.all_nodes_are_down = true});
                }
            });
        }
        std::uint64_t stop = kNever;
        run.play([&] {
            if (stop == kNever && run.has("closing")) stop = run.world->turns() + turns;
            if (run.world->turns() == stop) run.world->stop_machine(0, 60'000'000'000);
            return false;
        });
        ASSERT_EQ(run.rows_of(0), kRows) << turns;
        ASSERT_EQ(run.rows_of(1), kRows) << turns;
    }
}

// What it appends and calls durable is there, or it is told that nothing counts any more. Its region lies behind all
// others, and it has much to write.
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

// Its machine still held pages when all processes died, and loses its power behind the recovery on another one.
TEST_P(EveryNodes, WhatARecoveryHasFoundSurvivesTheLossOfOthers) {
    NodesRun run(GetParam(), 2, false);
    run.options.commit.flush_interval_ns = 3'600'000'000'000;
    int done = 0;
    for (std::uint32_t node = 0; node < 2; ++node) {
        run.start(node, [&, node] {
            auto const writer = run.come(node);
            auto const producer = NodesRun::append(*writer, 400);
            base::sleep_ns(100'000'000); // its pages are announced, and not synced
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

// Nobody else has looked at the folder since it took a region there.
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

// A write fails just when a node says that it is finished: its sign of life must not go on without it.
TEST_P(EveryNodes, AnEndThatCannotBeSaidIsAnError) {
    std::uint64_t errors = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        NodesRun run(GetParam(), 2, false, {}, seed);
        for (std::uint32_t node = 0; node < 2; ++node) {
            run.start(node, [&, node] {
                auto const writer = run.come(node);
                errors += fails([&] { // the other one may be told while it appends
                    NodesRun::append(*writer).finish();
                    writer->close(60'000'000'000);
                });
            });
        }
        run.play([&] {
            if (run.has("finished-0001") && run.world->weather.fail_write == kNever)
                run.world->weather.fail_write = run.world->writes;
            return false;
        });
    }
    EXPECT_GT(errors, 0);
}

} // namespace
} // namespace thalweg::simulator
