#include "thalweg/readout/handler/placement.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"

namespace thalweg::readout {
namespace {

using Processors = std::vector<std::uint32_t>;

HandlerConfig handler(char const* name, char const* pinning, std::size_t groups = 3) {
    HandlerConfig config{.name = name, .pinning = pinning};
    config.groups.resize(groups);
    config.server.threads = 4;
    return config;
}

std::size_t build_threads(HandlerConfig const& config, char const* machine) {
    std::size_t threads = 0;
    for (auto const& each : place({config}, machine::discover(machine)).placements) threads += each.role == "build";
    return threads;
}

TEST(Placement, AHandlerBuildsWithAThreadForEachGroupUnlessToldOtherwise) {
    auto config = handler("dh0", "auto");
    EXPECT_EQ(build_threads(config, "core:16 pu:1"), 3u);
    EXPECT_EQ(build_threads(config, "core:2 pu:1"), 2u);
    EXPECT_EQ(build_threads(handler("dh0", "none", 5), "core:2 pu:2"), 4u);
    config.threads = 1;
    EXPECT_EQ(build_threads(config, "core:16 pu:1"), 1u);
}

TEST(Placement, EveryHandlerIsPlacedAsItsPinningSays) {
    auto const topology = machine::discover("pack:1 l3:2 core:8 pu:1");
    auto const made = place(
        {handler("told", "build=8-10"), handler("free", "none"), handler("first", "auto"), handler("second", "auto")},
        topology);
    ASSERT_EQ(made.placements.size(), 4u * 7);
    EXPECT_TRUE(made.warnings.empty());
    for (std::uint32_t i = 0; i < 7; ++i) {
        auto const& told = made.placements[i];
        EXPECT_EQ(told.application, "told");
        EXPECT_EQ(told.role, i < 3 ? "build" : "serve");
        EXPECT_EQ(told.processors, i < 3 ? Processors{8 + i} : Processors{});
        EXPECT_EQ(told.chiplet, i < 3 ? 1u : 0u);
        EXPECT_TRUE(made.placements[7 + i].processors.empty());
        EXPECT_EQ(made.placements[14 + i].processors, Processors{i});
        EXPECT_EQ(made.placements[21 + i].processors, Processors{8 + i});
        EXPECT_EQ(made.placements[21 + i].chiplet, 1u);
    }
}

TEST(Placement, APinThatCannotBeNamesTheHandler) {
    try {
        place({handler("dh7", "build=99")}, machine::discover("core:4 pu:1"));
        FAIL();
    } catch (base::UsageError const& error) {
        EXPECT_NE(std::string(error.what()).find("cannot pin dh7 as \"build=99\""), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("no processor 99"), std::string::npos);
    }
}

} // namespace
} // namespace thalweg::readout
