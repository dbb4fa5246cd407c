#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "thalweg/base/error.h"
#include "thalweg/machine/pinning.h"

namespace thalweg::machine {
namespace {

char const* const kServerOfThePaper = "pack:2 numa:1 l3:12 core:8 pu:2";

std::vector<Demand> handlers(std::uint32_t count, std::uint32_t build = 3, std::uint32_t serve = 4) {
    std::vector<Demand> demands;
    for (std::uint32_t i = 0; i < count; ++i) {
        demands.push_back({"dh" + std::to_string(i), {{"build", build}, {"serve", serve}}});
    }
    return demands;
}

// Returns the largest number of threads that may use the same processor.
int crowd(Plan const& plan) {
    std::map<std::uint32_t, int> threads;
    int most = 0;
    for (auto const& placement : plan.placements) {
        for (auto const processor : placement.processors) most = std::max(most, ++threads[processor]);
    }
    return most;
}

// Each chiplet has one handler with three building and four serving threads, each on a core of its own; one core is
// left.
TEST(Plan, TheServerOfThePaper) {
    auto const topology = discover(kServerOfThePaper);
    auto const made = plan(topology, handlers(24));
    EXPECT_TRUE(made.warnings.empty());
    ASSERT_EQ(made.placements.size(), 24u * 7);
    for (std::size_t i = 0; i < made.placements.size(); ++i) {
        auto const& placement = made.placements[i];
        EXPECT_EQ(placement.application, "dh" + std::to_string(i / 7));
        EXPECT_EQ(placement.role, i % 7 < 3 ? "build" : "serve");
        EXPECT_EQ(placement.thread, i % 7 < 3 ? i % 7 : i % 7 - 3);
        EXPECT_EQ(placement.chiplet, i / 7);
        EXPECT_EQ(placement.processors, topology.chiplets[i / 7].cores[i % 7]) << "a whole core";
    }
    EXPECT_EQ(crowd(made), 1);
}

TEST(Plan, MoreHandlersThanChipletsShareAndAreTold) {
    auto const made = plan(discover("pack:1 l3:12 core:8 pu:2"), handlers(13));
    ASSERT_EQ(made.warnings.size(), 2u);
    EXPECT_EQ(made.warnings[0], "dh12 shares chiplet 0 with dh0 (12 chiplets, 13 applications)");
    EXPECT_EQ(made.warnings[1], "14 threads of dh0 and dh12 share the 8 cores of chiplet 0");
    EXPECT_EQ(made.placements.back().chiplet, 0u);
    EXPECT_EQ(crowd(made), 1) << "14 threads still have a hardware thread each";
}

TEST(Plan, MoreThreadsThanCoresShareHardwareThreadsFirst) {
    auto const made = plan(discover("l3:1 core:4 pu:2"), handlers(1, 3, 2));
    ASSERT_EQ(made.placements.size(), 5u);
    EXPECT_EQ(made.placements[0].processors, std::vector<std::uint32_t>{0});
    EXPECT_EQ(made.placements[1].processors, (std::vector<std::uint32_t>{2, 3})) << "alone on its core";
    EXPECT_EQ(made.placements[4].processors, std::vector<std::uint32_t>{1}) << "with the first thread on one core";
    EXPECT_EQ(made.warnings, std::vector<std::string>{"5 threads of dh0 share the 4 cores of chiplet 0"});
}

TEST(Plan, ThenCores) {
    auto const made = plan(discover("core:1 pu:1"), handlers(2));
    EXPECT_EQ(made.warnings.size(), 2u);
    for (auto const& placement : made.placements) EXPECT_EQ(placement.processors, std::vector<std::uint32_t>{0});
    auto const crowded = plan(discover("l3:1 core:2 pu:2"), handlers(1, 3, 2));
    EXPECT_EQ(crowded.placements[0].processors, (std::vector<std::uint32_t>{0, 1})) << "three on it: any of two";
    EXPECT_EQ(crowded.placements[1].processors, std::vector<std::uint32_t>{2}) << "two on it: one each";
    EXPECT_EQ(crowded.placements[3].processors, std::vector<std::uint32_t>{3});
}

TEST(Plan, OfAnyMachineHoldsItsPromises) {
    for (auto const* machine : {"pu:1", "core:3 pu:1", "pack:2 l3:3 core:5 pu:2", "pack:4 l3:1 core:1 pu:4"}) {
        auto const topology = discover(machine);
        for (std::uint32_t count = 0; count < 9; ++count) {
            for (std::uint32_t threads = 0; threads < 9; ++threads) {
                auto const made = plan(topology, handlers(count, threads, 2));
                EXPECT_EQ(made.placements.size(), count * (threads + 2)) << machine;
                std::map<std::string, std::set<std::uint32_t>> homes;
                for (auto const& placement : made.placements) {
                    EXPECT_FALSE(placement.processors.empty());
                    homes[placement.application].insert(placement.chiplet);
                }
                for (auto const& [name, chiplets] : homes) EXPECT_EQ(chiplets.size(), 1u) << name;
            }
        }
    }
}

TEST(Plan, WithoutProcessorsIsRefused) { EXPECT_THROW(plan(Topology{}, handlers(1)), base::UsageError); }

} // namespace
} // namespace thalweg::machine
