#include "thalweg/machine/topology.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "thalweg/base/error.h"
#include "thalweg/base/parallel.h"
#include "thalweg/machine/pinning.h"

namespace thalweg::machine {
namespace {

std::vector<std::size_t> cores_by_chiplet(char const* synthetic) {
    std::vector<std::size_t> counts;
    for (auto const& chiplet : discover(synthetic).chiplets) counts.push_back(chiplet.cores.size());
    return counts;
}

// The machine has two EPYC with 12 core complex dies of 8 cores and 2 hardware threads per core.
TEST(Topology, TheServerOfThePaper) {
    auto const topology = discover("pack:2 numa:1 l3:12(size=33554432) core:8 pu:2");
    ASSERT_EQ(topology.chiplets.size(), 24u);
    EXPECT_EQ(topology.core_count(), 192u);
    EXPECT_EQ(topology.processor_count(), 384u);
    std::set<std::uint32_t> seen;
    for (std::size_t i = 0; i < 24; ++i) {
        auto const& chiplet = topology.chiplets[i];
        EXPECT_EQ(chiplet.package, i / 12);
        EXPECT_EQ(chiplet.numa_node, i / 12);
        EXPECT_EQ(chiplet.cache_bytes, 32u << 20);
        ASSERT_EQ(chiplet.cores.size(), 8u);
        for (auto const& core : chiplet.cores) {
            EXPECT_EQ(core.size(), 2u);
            seen.insert(core.begin(), core.end());
        }
    }
    EXPECT_EQ(seen.size(), 384u) << "every processor is in one place";
    EXPECT_EQ(topology.chiplet_of(383), 23u);
    EXPECT_EQ(topology.chiplet_of(384), std::nullopt);
}

TEST(Topology, OddMachines) {
    using Counts = std::vector<std::size_t>;
    EXPECT_EQ(cores_by_chiplet("pu:1"), Counts{1});
    EXPECT_EQ(cores_by_chiplet("core:1 pu:1"), Counts{1});
    EXPECT_EQ(cores_by_chiplet("pack:2 core:4 pu:2"), (Counts{4, 4})) << "no cache known: the package counts";
    EXPECT_EQ(cores_by_chiplet("pack:1 l3:1 l2:4 core:1 pu:2"), Counts{4}) << "the last level counts";
    EXPECT_EQ(cores_by_chiplet("pack:4 l3:1 core:1 pu:1"), Counts{4}) << "a virtual machine: a package a processor";
    EXPECT_EQ(cores_by_chiplet("numa:2 l2:2 core:2 pu:1"), (Counts{2, 2, 2, 2}));
}

TEST(Topology, WhatHwlocDoesNotUnderstandIsRefused) {
    for (auto const* text : {"nonsense", "pack:2 core", "pack:-1 pu:1", "pack:2 core:2 l3:2"}) {
        EXPECT_THROW(discover(text), base::UsageError) << text;
    }
}

TEST(Topology, OfThisMachineIsWhatWeMayUse) {
    auto const topology = discover();
    EXPECT_EQ(topology.source, "this machine");
    std::set<std::uint32_t> seen;
    for (auto const& chiplet : topology.chiplets) {
        for (auto const& core : chiplet.cores) seen.insert(core.begin(), core.end());
    }
    auto const ours = processors_of_this_thread();
    EXPECT_EQ(seen, std::set<std::uint32_t>(ours.begin(), ours.end()));
    EXPECT_EQ(seen.size(), base::usable_cores());
}

TEST(Topology, HeedsWhatIsLeftToThisProcess) {
    auto const before = processors_of_this_thread();
    pin_this_thread({before.back()});
    auto const topology = discover();
    pin_this_thread(before);
    ASSERT_EQ(topology.core_count(), 1u);
    EXPECT_EQ(topology.chiplets[0].cores[0], std::vector<std::uint32_t>{before.back()});
}

} // namespace
} // namespace thalweg::machine
