// Tests a committer that gets no turn for longer than other processes live, at any point.
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>

#include "tests/simulator/history.h"
#include "thalweg/base/clock.h"
#include "thalweg/dataset/append/work_unit.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/attach.h"

namespace thalweg::simulator {
namespace {

constexpr std::uint64_t kRows = 5;       // per unit
constexpr std::uint64_t kCommitters = 0; // numbers of the producers in their rows
constexpr std::uint64_t kWorkers = 1;

void append(dataset::Producer& producer, std::uint64_t who) {
    Rows const data(producer.columns(), 0, who, 0, kRows);
    producer.append(kRows, data.spans());
}

// One recording on one machine, with the process that creates it and a worker. Every step of a thread is a turn.
class Recording {
  public:
    explicit Recording(Container container)
        : scenario_(scenario(container)), world_(workshop_, 1, weather(), {}, {}, 1'000'000'000, "boot") {
        creator_ = world_.start_process([this] { create(); });
        worker_ = world_.start_process([this] { work(); });
    }

    void run(std::function<void(Recording&)> const& between_turns) {
        world_.run([&] {
            between_turns(*this);
            return false;
        });
        EXPECT_EQ(world_.faults(), std::vector<std::string>{});
    }

    // Returns whether the memory by which the committer knows the worker exists. The worker may not append before that.
    bool worker_has_memory() const {
        return std::ranges::any_of(world_.names.segments, [](auto const& each) { return each.first.ends_with("-p1"); });
    }

    World& world() { return world_; }
    std::int32_t creator() const { return creator_; }
    std::int32_t worker() const { return worker_; }

    bool ends_by_itself = false; // the worker, once it `may_end`
    bool may_end = true;
    bool committed = false;                      // the worker has committed
    std::optional<dataset::CommitStatus> status; // after the close
    std::optional<Found> found;

  private:
    static Scenario scenario(Container container) {
        Random random(1);
        auto drawn = draw_scenario(container, random);
        drawn.options.commit.flush_interval_ns = 3'600'000'000'000;
        model::Field const row{"row", model::Kind::scalar, model::Scalar::uint64, {}, {}, "", ""};
        drawn.schema = {{{"t", {row}, ""}}}; // no page gets full, so the committer is not needed for that
        return drawn;
    }

    static Weather weather() {
        Weather weather;
        weather.steps_per_turn = 0;
        return weather;
    }

    void create() {
        auto const writer = dataset::Writer::create(scenario_.path, scenario_.schema, scenario_.options);
        auto unit = writer->work_unit(0); // so that there is a table of keys, without which none can be taken
        append(unit[scenario_.schema.tables[0].name], kCommitters);
        unit.commit();
        handle_ = writer->handle();
        while (world_.is_running(worker_)) base::sleep_ns(10'000'000);
        writer->close(kNever);
        status = writer->status();
        auto const reader = dataset::Reader::open(scenario_.path);
        World::Undivided const undivided(world_);
        found = read_all(*reader, [this](std::string const& text) { world_.blame(text); });
    }

    void work() {
        while (handle_.empty()) base::sleep_ns(200'000);
        dataset::WorkUnits units(dataset::attach(handle_, 0));
        auto unit = units.begin(1);
        append(unit[scenario_.schema.tables[0].name], kWorkers);
        committed = unit.commit();
        while (!may_end) base::sleep_ns(100'000);
        if (!ends_by_itself) base::sleep_ns(kNever / 2);
        units.finish();
    }

    Workshop workshop_;
    Scenario scenario_;
    World world_;
    std::int32_t creator_ = 0, worker_ = 0;
    std::string handle_;
};

class EveryPreemption : public ::testing::TestWithParam<Container> {};

// The committer finds the worker before it has begun, and goes on after it has committed and was killed.
TEST_P(EveryPreemption, KeepsWhatAWorkerCommittedThatCameAndWasKilled) {
    constexpr std::uint64_t kTurns = 200;
    std::uint64_t stretch_ns = 0;
    for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
        Recording recording(GetParam());
        auto& world = recording.world();
        std::uint64_t begin = kNever, begin_ns = 0, frozen = kNever;
        recording.run([&](Recording& now) {
            if (begin == kNever && now.worker_has_memory()) {
                world.freeze(now.worker());
                begin = world.turns();
                begin_ns = world.now_ns();
            }
            if (begin != kNever && frozen == kNever && world.turns() >= begin + turn) {
                frozen = world.turns();
                stretch_ns = world.now_ns() - begin_ns;
                world.freeze(now.creator());
                world.thaw(now.worker());
            }
            if (now.committed && world.is_running(now.worker())) world.kill(now.worker());
        });
        ASSERT_TRUE(recording.found) << turn;
        auto const& rows = recording.found->tables[0];
        ASSERT_TRUE(rows.contains(kWorkers)) << "a unit that was committed is lost: turn " << turn;
        ASSERT_EQ(rows.at(kWorkers).size(), kRows) << turn;
        ASSERT_EQ(recording.found->units, (std::vector<std::int64_t>{0, 1})) << turn;
    }
    EXPECT_GT(stretch_ns, 1'500'000u); // more than two steps of the committer
}

// A status that counted too few would report a unit as durable that is not.
TEST_P(EveryPreemption, CountsTheUnitOfAWorkerThatIsKilledWhileItCommits) {
    std::uint64_t before = 0, behind = 0; // how often it was killed before and after the key was taken
    for (std::uint64_t turn = 0; before == 0 || behind < 20; ++turn) {
        ASSERT_LT(turn, 4000u);
        Recording recording(GetParam());
        std::uint64_t begin = kNever;
        auto& world = recording.world();
        recording.run([&](Recording& now) {
            if (begin == kNever && now.worker_has_memory()) begin = world.turns();
            if (begin != kNever && world.turns() >= begin + turn && world.is_running(now.worker()))
                world.kill(now.worker());
        });
        ASSERT_TRUE(recording.found && recording.status) << turn;
        auto const units = recording.found->units.size();
        ++(units == 1 ? before : behind);
        ASSERT_GE(recording.status->units_committed, units) << turn;
        ASSERT_LE(recording.status->units_committed, units + 1) << turn;
    }
}

// At that turn the committer stops until the worker has finished and its process has ended.
std::uint64_t died(Container container, std::uint64_t turn) {
    Recording recording(container);
    recording.ends_by_itself = true;
    recording.may_end = false;
    auto& world = recording.world();
    recording.run([&](Recording& now) {
        if (now.may_end || world.turns() < turn) return;
        EXPECT_TRUE(now.committed);
        world.freeze(now.creator());
        now.may_end = true;
    });
    EXPECT_TRUE(recording.found && recording.found->units == (std::vector<std::int64_t>{0, 1})) << turn;
    return recording.status ? recording.status->ended[0].died : kNever;
}

// The committer asks every 100 ms which processes are alive.
TEST_P(EveryPreemption, CallsNoProducerDeadThatHasFinished) {
    constexpr std::uint64_t kTurnsBefore = 150;
    std::uint64_t asks = 0, before = 0;
    {
        Recording recording(GetParam());
        recording.ends_by_itself = true;
        recording.may_end = false;
        auto& world = recording.world();
        recording.run([&](Recording& now) {
            if (!now.committed) before = world.questions;
            if (now.may_end || world.questions == before) return;
            asks = world.turns();
            now.may_end = true;
        });
    }
    ASSERT_GT(asks, kTurnsBefore);
    for (auto turn = asks - kTurnsBefore; turn < asks + 10; ++turn) ASSERT_EQ(died(GetParam(), turn), 0u) << turn;
}

INSTANTIATE_TEST_SUITE_P(Simulator, EveryPreemption, ::testing::Values(Container::hdf5, Container::rntuple),
                         [](auto const& each) { return each.param == Container::hdf5 ? "hdf5" : "rntuple"; });

} // namespace
} // namespace thalweg::simulator
