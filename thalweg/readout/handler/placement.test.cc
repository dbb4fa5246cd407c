#include "thalweg/readout/handler/placement.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/readout/handler/pinning.h"

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

HandlerConfig automatic(char const* name) {
    auto config = handler(name, "auto");
    config.threads = 3; // otherwise it depends on the machine of the test
    return config;
}

TEST(Placement, APartOfTheMachineIsForTheHandlerThatGotIt) {
    auto part = machine::discover("pack:1 l3:1 core:8 pu:1");
    part.is_part = true; // a cpuset of one chiplet
    auto const names = {"dh0", "dh1", "dh2"};
    for (std::string const own : names) {
        std::vector<HandlerConfig> handlers;
        for (auto const* const name : names) handlers.push_back(automatic(name));
        EXPECT_TRUE(resolve_own_pinning(handlers, own, part).empty()) << own;
        for (auto const& each : handlers) {
            EXPECT_EQ(each.build_processors.empty(), each.name != own);
            if (each.name == own) {
                EXPECT_EQ(each.build_processors, (std::vector<Processors>{{0}, {1}, {2}}));
                EXPECT_EQ(each.serve_processors, (std::vector<Processors>{{3}, {4}, {5}, {6}}));
            }
        }
    }
}

TEST(Placement, OnAWholeMachineHandlersLeaveRoomForEachOther) {
    for (bool const is_part : {false, true}) {
        auto machine = machine::discover("pack:1 l3:2 core:8 pu:1");
        machine.is_part = is_part; // a part with a chiplet for each handler may be for all of them
        std::vector<HandlerConfig> handlers{automatic("dh0"), automatic("dh1")};
        EXPECT_TRUE(resolve_own_pinning(handlers, "dh1", machine).empty());
        EXPECT_EQ(handlers[1].build_processors, (std::vector<Processors>{{8}, {9}, {10}}));
    }
    std::vector<HandlerConfig> handlers{automatic("dh0"), automatic("dh1")};
    EXPECT_EQ(resolve_own_pinning(handlers, "dh1", machine::discover("core:16 pu:1")).size(), 1u);
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
