// Other programs fill the disk while a run is written, and remove their files later.
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>

#include "tests/simulator/history.h"
#include "tests/simulator/rows.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::simulator {
namespace {

constexpr std::uint64_t kRowsOnFullDisk = 3000, kMostRefusals = 1000;
constexpr std::uint64_t kHistories = 4; // in which rows are refused: 1 of 8 to 20 seeds is one

struct FullDiskRecording {
    std::uint64_t refused = 0; // appends
    bool closed = false;
    std::vector<std::string> faults;
};

// Appends until all rows are there, or until a full disk has interrupted the producer in the middle of a large row.
void append_rows(dataset::Producer& producer, std::uint64_t before, FullDiskRecording& recording, Random& random) {
    while (before + producer.rows() < kRowsOnFullDisk && recording.refused <= kMostRefusals) {
        auto const first = before + producer.rows();
        auto const rows = std::min<std::uint64_t>(50, kRowsOnFullDisk - first);
        Rows const data(producer.columns(), 0, 7, first, rows);
        try {
            producer.append(rows, data.spans());
            base::sleep_ns(random.any_size(20'000'000));
        } catch (base::SystemError const& error) {
            if (!base::is_no_space(error.code)) throw;
            ++recording.refused;
            base::sleep_ns(10'000'000);
        } catch (base::UsageError const&) {
            return;
        }
    }
}

// One process creates the run and closes it; the other one appends, and goes on when it is refused.
FullDiskRecording record(Workshop& workshop, Container container, std::uint64_t seed) {
    Random random(seed);
    auto scenario = draw_scenario(container, random);
    scenario.weather = {};
    scenario.weather.disk_bytes = random.between(256 << 10, 4 << 20);
    scenario.weather.disk_full_from_ns = World::kBeginNs + 1'000'000 + random.any_size(300'000'000);
    scenario.weather.disk_full_until_ns = scenario.weather.disk_full_from_ns + random.any_size(3'000'000'000);
    scenario.options.keys_per_group = 0;
    World world(workshop, seed, scenario.weather, {}, {}, World::kBeginNs, "boot");
    FullDiskRecording recording;
    std::string handle;
    bool is_over = false;
    world.start_process([&] {
        std::unique_ptr<dataset::Writer> writer;
        try {
            writer = dataset::Writer::create(scenario.path, scenario.schema, scenario.options);
        } catch (base::SystemError const&) { // it was full already
            is_over = recording.closed = true;
            return;
        }
        handle = writer->handle();
        while (!is_over) base::sleep_ns(1'000'000);
        writer->close(10'000'000'000);
        recording.closed = true;
        auto const reader = dataset::Reader::open(scenario.path);
        World::Undivided const undivided(world);
        auto const found = read_all(*reader, [&](std::string const& text) { world.blame(text); });
        if (found.tables.at(0).at(7).size() != kRowsOnFullDisk) world.blame("rows are missing");
    });
    world.start_process([&] {
        while (handle.empty() && !is_over) base::sleep_ns(1'000'000);
        if (is_over) return;
        auto const run = dataset::attach(handle, scenario.options.write.seal_threads);
        std::uint64_t before = 0; // rows of producers before this one
        while (before < kRowsOnFullDisk) {
            dataset::Producer producer(run, 0);
            append_rows(producer, before, recording, random);
            if (recording.refused > kMostRefusals) world.blame("the disk has room again, and rows are refused");
            before = recording.refused > kMostRefusals ? kRowsOnFullDisk : before + producer.rows();
            producer.finish();
        }
        is_over = true;
    });
    world.run([] { return false; });
    recording.faults = world.faults();
    return recording;
}

class FullDisk : public ::testing::TestWithParam<Container> {};

TEST_P(FullDisk, RowsAreTakenAgainOnceThereIsRoom) {
    Workshop workshop;
    std::uint64_t refused = 0;
    for (std::uint64_t seed = 1; refused < kHistories && seed <= 400; ++seed) {
        auto const recording = record(workshop, GetParam(), seed);
        EXPECT_EQ(recording.faults, std::vector<std::string>{}) << "seed " << seed;
        EXPECT_TRUE(recording.closed) << "seed " << seed;
        refused += recording.refused > 0 ? 1 : 0;
    }
    EXPECT_EQ(refused, kHistories);
}

INSTANTIATE_TEST_SUITE_P(Containers, FullDisk, ::testing::Values(Container::hdf5, Container::rntuple),
                         [](auto const& each) { return each.param == Container::hdf5 ? "h5" : "root"; });

} // namespace
} // namespace thalweg::simulator
