#include "thalweg/readout/builder/hooks.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/readout/builder/test_group.h"

namespace thalweg::readout {
namespace {

// The options of examples/hook: its configuration is the offset of the event number, packets begin with 0xA5, and
// bodies are halved.
HookConfig example() { return {.library = THALWEG_TEST_HOOK, .configuration = "4", .budget_ns = 1'000'000'000}; }

// Makes a packet as this hook expects it.
std::vector<std::byte> packet_of(std::uint32_t l1id, std::uint8_t first = 0xA5) {
    std::vector<std::byte> packet(16);
    packet[0] = std::byte{first};
    std::memcpy(packet.data() + 4, &l1id, sizeof l1id);
    return packet;
}

TestGroup group_with(HookConfig const& config) {
    auto options = TestGroup::options_of(2);
    options.hook = HookLibrary::load(config);
    return TestGroup(options);
}

TEST(Hooks, ReadTheTriggerAndRewriteTheFragment) {
    auto test = group_with(example());
    for (std::size_t stream = 0; stream < 2; ++stream) test.send_bytes(stream, packet_of(77));
    test.tick();
    auto const header = test.header(kEpoch1 + 77);
    EXPECT_EQ(header.status, kRewritten);
    EXPECT_EQ(header.trigger_type, 0x51u);
    EXPECT_EQ(header.length_bytes, header.header_bytes + 16u);
    EXPECT_EQ(test.fragment(kEpoch1 + 77)[header.header_bytes + 2], std::byte{77}) << "every second byte is left";
}

TEST(Hooks, MarkTheFragmentOfAPacketThatTheyFindDamaged) {
    auto test = group_with(example());
    test.send_bytes(0, packet_of(1));
    test.send_bytes(1, packet_of(1, 0x00));
    test.tick();
    EXPECT_EQ(test.header(kEpoch1 + 1).status, kRewritten | kHookFailed);
    EXPECT_EQ(test.group.report().hook_failures, 1u);
}

TEST(Hooks, PacketsWithoutATriggerAreOrphans) {
    auto test = group_with(example());
    test.send_bytes(0, std::vector<std::byte>(6));
    test.tick();
    EXPECT_EQ(test.group.report().streams[0].orphaned, 1u);
}

TEST(Hooks, CallsBeyondTheBudgetAreCountedAndMarked) {
    auto config = example();
    config.budget_ns = 0;
    auto test = group_with(config);
    for (std::size_t stream = 0; stream < 2; ++stream) test.send_bytes(stream, packet_of(5));
    test.tick();
    EXPECT_NE(test.header(kEpoch1 + 5).status & kHookLate, 0u);
    EXPECT_EQ(test.group.report().hook_overruns, 5u) << "two triggers, two checks, one fragment";
}

TEST(Hooks, LibrariesThatAreNoneAreRefused) {
    EXPECT_THROW(HookLibrary::load({.library = "/nowhere/hook.so", .configuration = {}}), base::UsageError);
    EXPECT_THROW(HookLibrary::load({.library = "libm.so.6", .configuration = {}}), base::UsageError);
}

} // namespace
} // namespace thalweg::readout
