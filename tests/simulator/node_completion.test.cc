// What has once gone wrong where one node completes the file of all.
#include "tests/simulator/nodes_run.h"

namespace thalweg::simulator {
namespace {

using namespace testing;

class EveryCompletion : public EveryNodes {};

INSTANTIATE_TEST_SUITE_P(Simulator, EveryCompletion, ::testing::Values(Container::hdf5, Container::rntuple), name_of);

// All is finished; who completes the file stands still in the middle of that, somebody recovers the run, and it goes
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

// The same, behind its last question; and where it goes on it is killed, before, in or behind the rest of its writes.
TEST_P(EveryCompletion, OneThatComesBackWhileItCompletesTheFileMayDie) {
    std::uint64_t recovered = 0;
    for (std::uint64_t turns = 0; turns < 150; turns += 4) {
        for (std::uint64_t more : {1, 3, 10, 30, 60}) {
            NodesRun run(GetParam(), 2, false, {.steps_per_turn = 30});
            std::int32_t completing = 0;
            bool is_recovered = false;
            for (std::uint32_t node = 0; node < 2; ++node) {
                auto const pid = run.world->start_process(
                    [&, node] {
                        auto const writer = run.come(node);
                        NodesRun::append(*writer).finish();
                        try {
                            writer->close(60'000'000'000);
                        } catch (base::Error const&) {
                            if (node == 0) return;
                            dataset::recover(run.path, {.all_nodes_are_down = true});
                            is_recovered = true;
                        }
                    },
                    node);
                if (node == 0) completing = pid;
            }
            std::uint64_t stop = kNever, end = kNever;
            run.play([&] {
                auto& world = *run.world;
                if (stop == kNever && run.has("closing")) stop = world.turns() + turns;
                if (world.turns() == stop) world.stop_machine(0, 60'000'000'000);
                if (is_recovered && end == kNever) {
                    ++recovered;
                    end = world.turns() + more;
                    world.let_go_on(0, 0);
                }
                if (world.turns() == end) world.kill(completing);
                return false;
            });
            ASSERT_EQ(run.rows_of(0), kRows) << turns << ", " << more;
            ASSERT_EQ(run.rows_of(1), kRows) << turns << ", " << more;
        }
    }
    EXPECT_GT(recovered, 50);
}

// A write fails just when a node says that it is finished: its sign of life must not go on without it.
TEST_P(EveryCompletion, AnEndThatCannotBeSaidIsAnError) {
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
