// Tests failures that were found in the completion of the file by one node.
#include <set>

#include "tests/simulator/nodes_run.h"

namespace thalweg::simulator {
namespace {

using namespace testing;

class EveryCompletion : public EveryNodes {};

INSTANTIATE_TEST_SUITE_P(Simulator, EveryCompletion, ::testing::Values(Container::hdf5, Container::rntuple), name_of);

// Everything is finished. The completing node stops in the middle, another process recovers the run, and the node goes
// on.
TEST_P(EveryCompletion, OneThatComesBackWhileItCompletesTheFileChangesNothing) {
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

// One of two nodes completes the file: the second one if the first is dead. It stops so many turns after it has said
// so, and the other node recovers the run. The completing one goes on so many turns after the moment that `goes_on`
// tells, and dies so many turns later.
struct Stop {
    std::uint64_t after, goes_on_after, dies_after;
    std::uint32_t completing = 0;
};

// Returns whether there was a recovery. `said`: gets what the completing node was told.
bool recover_during_completion(NodesRun& run, Stop const& stop, bool goes_on_in_recovery,
                               std::set<std::string>* said = nullptr) {
    std::int32_t completing = 0;
    bool is_stopped = false, is_recovered = false;
    auto const work = [&](std::uint32_t node) {
        auto writer = run.come(node);
        NodesRun::append(*writer).finish();
        if (node < stop.completing) {
            NodesRun::wait_until_durable(*writer);
            writer->abandon();
            writer.reset();
            while (!is_stopped) base::sleep_ns(100'000);
        } else {
            auto const error = error_of([&] { writer->close(60'000'000'000); });
            if (node == stop.completing && said != nullptr) said->insert(error);
            if (error.empty() || node == stop.completing) return;
        }
        // If the other node has completed the file meanwhile, there is nothing to recover.
        is_recovered = !fails([&] { dataset::recover(run.path, {.all_nodes_are_down = true}); });
    };
    for (std::uint32_t node = 0; node < 2; ++node) {
        auto const pid = run.world->start_process([&work, node] { work(node); }, node);
        if (node == stop.completing) completing = pid;
    }
    std::uint64_t stops = kNever, goes_on = kNever;
    run.play([&] {
        auto& world = *run.world;
        auto const now = world.turns();
        if (stops == kNever && run.has("closing")) stops = now + stop.after;
        if (now == stops) world.stop_machine(stop.completing, 60'000'000'000);
        is_stopped = is_stopped || now == stops;
        bool const is_time = goes_on_in_recovery ? run.has("recovering") : is_recovered;
        if (is_time && goes_on == kNever) goes_on = now + stop.goes_on_after;
        if (now == goes_on) world.let_go_on(stop.completing, 0);
        if (goes_on != kNever && now == goes_on + stop.dies_after) world.kill(completing);
        return false;
    });
    return is_recovered;
}

// The node also stops after its last question. When it goes on it is killed: before, during or after the rest of its
// writes.
TEST_P(EveryCompletion, OneThatComesBackWhileItCompletesTheFileMayDie) {
    std::uint64_t recovered = 0;
    for (std::uint64_t after = 0; after < 150; after += 4) {
        for (std::uint64_t const dies_after : {1, 3, 10, 30, 60}) {
            NodesRun run(GetParam(), 2, false, {.steps_per_turn = 30});
            recovered += recover_during_completion(run, {after, 0, dies_after}, false);
            ASSERT_EQ(run.rows_of(0), kRows) << after << ", " << dies_after;
            ASSERT_EQ(run.rows_of(1), kRows) << after << ", " << dies_after;
        }
    }
    EXPECT_GT(recovered, 50);
}

// Both nodes write at the same time.
TEST_P(EveryCompletion, OneThatComesBackWhileTheFileIsRecoveredHarmsNothing) {
    std::uint64_t recovered = 0;
    std::set<std::string> said;
    for (std::uint64_t after = 0; after < 150; after += 4) {
        for (std::uint64_t const goes_on_after : {0, 5, 10, 20, 40, 60}) {
            NodesRun run(GetParam(), 2, false, {.steps_per_turn = 30});
            recovered += recover_during_completion(run, {after, goes_on_after, kNever / 2}, true, &said);
            ASSERT_EQ(run.rows_of(0), kRows) << after << ", " << goes_on_after;
            ASSERT_EQ(run.rows_of(1), kRows) << after << ", " << goes_on_after;
        }
    }
    EXPECT_GT(recovered, 50);
    said.erase(""); // it has completed the file, also for the recovery
    EXPECT_GT(said.size(), 1);
    for (auto const& error : said) EXPECT_NE(error.find("recover"), std::string::npos) << error;
}

// The first node is dead, and the run is recovered on its machine. The second one has finished, and that says nothing:
// it was completing the file, and goes on during the recovery or after it.
TEST_P(EveryCompletion, ALaterOneThatComesBackWhileItCompletesTheFileHarmsNothing) {
    std::uint64_t recovered = 0;
    for (std::uint64_t after = 0; after < 150; after += 8) {
        for (std::uint64_t const goes_on_after : {0, 40}) {
            for (bool const goes_on_in_recovery : {false, true}) {
                NodesRun run(GetParam(), 2, true, {.steps_per_turn = 30});
                Stop const stop{after, goes_on_after, kNever / 2, 1};
                recovered += recover_during_completion(run, stop, goes_on_in_recovery);
                ASSERT_EQ(run.rows_of(0), kRows) << after << ", " << goes_on_after;
                ASSERT_EQ(run.rows_of(1), kRows) << after << ", " << goes_on_after;
            }
        }
    }
    EXPECT_GT(recovered, 20);
}

// The folder does not answer for a moment while nodes wait for each other, also just when one has said that it
// completes the file. That says nothing about the nodes.
TEST_P(EveryCompletion, AFolderThatDoesNotAnswerForAMomentEndsNoRun) {
    for (auto const* const name : {"finished-0001", "finished-0002", "closing"}) {
        for (std::uint32_t machine = 0; machine < 2; ++machine) {
            for (std::uint64_t const lists : {1u, 2u, 3u, 20u}) {
                NodesRun run(GetParam(), 2, machine == 1, {.steps_per_turn = 30}, lists);
                for (std::uint32_t node = 0; node < 2; ++node) {
                    run.start(node, [&, node] {
                        auto const writer = run.come(node);
                        NodesRun::append(*writer).finish();
                        base::sleep_ns(node == machine ? 0 : 300'000'000);
                        writer->close(60'000'000'000);
                    });
                }
                bool has_failed = false;
                run.play([&] {
                    if (has_failed || !run.has(name)) return false;
                    has_failed = true;
                    run.world->weather.without_answer = machine;
                    run.world->weather.lists_without_answer = name == std::string("closing") ? 1 : lists;
                    return false;
                });
                EXPECT_TRUE(has_failed);
                ASSERT_EQ(run.rows_of(0), kRows) << name << ", " << machine << ", " << lists;
                ASSERT_EQ(run.rows_of(1), kRows) << name << ", " << machine << ", " << lists;
            }
        }
    }
}

// A write fails just when a node says that it is finished. Its heartbeat must not go on without it.
TEST_P(EveryCompletion, AnEndThatCannotBeSaidIsAnError) {
    std::uint64_t errors = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        NodesRun run(GetParam(), 2, false, {}, seed);
        for (std::uint32_t node = 0; node < 2; ++node) {
            run.start(node, [&, node] {
                auto const writer = run.come(node);
                errors += fails([&] { // the other node may hear it while it appends
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
