#include "thalweg/machine/pinning.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <thread>

#include "thalweg/base/error.h"

namespace thalweg::machine {
namespace {

using Processors = std::vector<std::uint32_t>;

Demand const kHandler{"dh0", {{"build", 3}, {"serve", 4}}};

TEST(Pinning, ProcessorsAreWrittenAsRanges) {
    EXPECT_EQ(processors_text({}), "");
    EXPECT_EQ(processors_text({5}), "5");
    EXPECT_EQ(processors_text({2, 0, 1, 7, 5, 4}), "0-2,4-5,7");
    EXPECT_EQ(processors_text({3, 3}), "3");
}

TEST(Pinning, IsReadByRole) {
    auto const placements = parse_pinning("build=0-2,serve=8,9", kHandler, discover("l3:2 core:4 pu:2"));
    ASSERT_EQ(placements.size(), 7u);
    for (std::uint32_t thread = 0; thread < 3; ++thread) {
        EXPECT_EQ(placements[thread].role, "build");
        EXPECT_EQ(placements[thread].processors, Processors{thread}) << "three for three: one each";
        EXPECT_EQ(placements[thread].chiplet, 0u);
    }
    for (std::size_t i = 3; i < 7; ++i) {
        EXPECT_EQ(placements[i].role, "serve");
        EXPECT_EQ(placements[i].processors, (Processors{8, 9})) << "two for four: any of them";
        EXPECT_EQ(placements[i].chiplet, 1u);
    }
}

TEST(Pinning, ARoleThatIsNotNamedRunsAnywhere) {
    auto const placements = parse_pinning("serve=1", kHandler, discover("core:2 pu:1"));
    ASSERT_EQ(placements.size(), 7u);
    EXPECT_TRUE(placements[0].processors.empty());
    EXPECT_EQ(placements[6].processors, Processors{1});
}

std::string refusal(char const* text) {
    try {
        parse_pinning(text, kHandler, discover("core:4 pu:1"));
    } catch (base::UsageError const& error) {
        return error.what();
    }
    return "";
}

TEST(Pinning, WhatIsNoneIsRefused) {
    for (auto const* text : {"", ",", "build", "build=", "build=1,", "build=,1", "build=1,,2", "0,build=1", "build=2-1",
                             "build=-1", "build=1-", "build=a", "build=0x1", "build= 1", "=1", "build=0-99999999",
                             "build=4294967295", "build=4294967296", "build==1"}) {
        EXPECT_NE(refusal(text).find("such as build=0-2,serve=3,4"), std::string::npos) << text;
    }
    EXPECT_NE(refusal("build=1,serve=2,build=3").find("\"build\" comes twice"), std::string::npos);
    EXPECT_NE(refusal("read=1").find("no threads called \"read\", but build, serve"), std::string::npos);
    EXPECT_NE(refusal("build=2-4").find("has no processor 4 for this process, but 0-3"), std::string::npos);
}

TEST(Pinning, APinnedThreadRunsWhereItShould) {
    auto const ours = processors_of_this_thread();
    ASSERT_FALSE(ours.empty());
    for (auto const processor : {ours.front(), ours.back()}) {
        std::thread([&] {
            pin_this_thread({processor});
            EXPECT_EQ(processors_of_this_thread(), Processors{processor});
            EXPECT_EQ(::sched_getcpu(), static_cast<int>(processor));
        }).join();
    }
    EXPECT_EQ(processors_of_this_thread(), ours) << "only the thread that asked";
    pin_this_thread({});
    EXPECT_EQ(processors_of_this_thread(), ours);
}

TEST(Pinning, AnImpossiblePinIsRefusedAndChangesNothing) {
    auto const ours = processors_of_this_thread();
    for (auto const& wanted : {Processors{8191}, Processors{ours.front(), 8191}, Processors{100'000}}) {
        try {
            pin_this_thread(wanted);
            FAIL() << processors_text(wanted);
        } catch (base::SystemError const& error) {
            EXPECT_NE(std::string(error.what()).find(processors_text(wanted)), std::string::npos);
        }
        EXPECT_EQ(processors_of_this_thread(), ours);
    }
}

} // namespace
} // namespace thalweg::machine
