// For tests of runs over several machines.
#pragma once

#include <gtest/gtest.h>
#include <optional>

#include "tests/simulator/history.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::simulator::testing {

inline constexpr Survival kNothing{.share = 0};
inline constexpr std::uint64_t kRows = 50;
inline constexpr std::uint64_t kTimeoutNs = 1'200'000'000;

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

    // The node's number is its name in the rows.
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

    // Returns whether the other nodes can read it.
    bool has_begun() {
        auto const* const inode = world->disk.find(path + ".parts/begun");
        if (inode == nullptr) return false;
        auto const& image = world->disk.files.at(*inode).cache;
        std::byte last{};
        if (image.size() > 0) image.read(image.size() - 1, {&last, 1});
        return last == std::byte{'\n'};
    }

    // Ends all processes. `change` is what then happens to the disk and the machines.
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

    // Returns the rows by node, and the keys; nothing if a value is wrong.
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

// Returns the error with which it ends; empty if it does not.
inline std::string error_of(std::function<void()> const& work) {
    try {
        work();
        return "";
    } catch (base::Error const& error) {
        return error.what();
    }
}

inline bool fails(std::function<void()> const& work) { return !error_of(work).empty(); }

class EveryNodes : public ::testing::TestWithParam<Container> {};

inline std::string name_of(::testing::TestParamInfo<Container> const& each) {
    return each.param == Container::hdf5 ? "hdf5" : "rntuple";
}

} // namespace thalweg::simulator::testing
