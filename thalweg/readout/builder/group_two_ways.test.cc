#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/felix/card.h"
#include "thalweg/felix/dma_buffer.h"
#include "thalweg/readout/builder/test_group.h"
#include "thalweg/readout/builder/test_two_ways.h"

namespace thalweg::readout {
namespace {

using Bytes = std::vector<std::byte>;

GroupOptions options_of(std::uint32_t streams) {
    auto options = TestGroup::options_of(streams);
    options.group.fragment_bytes = 1024;
    options.index.events = 1 << 14;
    options.index.window_events = 1024;
    return options;
}

// Returns all blocks that a card writes, in their order.
std::vector<Bytes> blocks_of(felix::CardOptions const& options) {
    std::vector<Bytes> blocks;
    felix::Card card(options);
    auto reader = felix::DmaReader::attach(felix::dma_name(options.name, 0));
    std::jthread const running([&] { card.run(); });
    for (std::uint64_t cursor = 0;;) {
        bool const is_last = reader.stopped();
        auto const end = reader.published(cursor);
        for (; cursor < end; ++cursor)
            blocks.emplace_back(reader.block(cursor), reader.block(cursor) + options.format.block_bytes);
        reader.release(cursor);
        if (is_last) break;
        base::sleep_ns(100'000);
    }
    return blocks;
}

felix::CardOptions card_of(std::uint32_t streams, char const* sizes, std::uint64_t seed, char const* faults) {
    static int count = 0;
    felix::CardOptions options;
    options.name = fmt::format("two-ways-{}-{}", ::getpid(), count++);
    options.elinks = streams;
    options.buffer_bytes = 1 << 20;
    options.events = 6000;
    options.timeout_ns = 0; // the clock would decide on timeouts
    options.sizes = felix::parse_packet_sizes(sizes);
    options.seed = seed;
    options.faults = felix::parse_faults(faults);
    options.faults.stuck_pointer = 0; // blocks are read from the side of the card
    options.faults.dead_events = 500;
    options.faults.late_events = 150;
    return options;
}

// Feeds both ways, with pauses of any length between blocks.
void feed(TwoWays& ways, std::vector<Bytes> const& blocks, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < blocks.size() && ways.difference().empty(); ++i) {
        ways.take(felix::BlockHeader::parse(blocks[i].data()).elink, blocks[i]);
        auto const draw = random() % 1000;
        if (draw < 60) ways.tick(random() % 300'000);
        if (draw == 999) ways.tick(random() % 200'000'000); // longer than `close_after` and `dead_after`
    }
    ways.finish();
}

struct Case {
    char const* sizes;
    char const* faults;
};

class BothWays : public testing::TestWithParam<Case> {};

TEST_P(BothWays, MakeTheSameFragments) {
    std::uint64_t held = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        auto const streams = static_cast<std::uint32_t>(2 + seed % 7);
        TwoWays ways(options_of(streams));
        feed(ways, blocks_of(card_of(streams, GetParam().sizes, seed, GetParam().faults)), seed);
        ASSERT_EQ(ways.difference(), "") << "seed " << seed;
        EXPECT_GT(ways.compared(), 5000u);
        EXPECT_EQ(ways.refused(), 0u);
        held += ways.held();
    }
    EXPECT_GT(held, 1000u) << "the second way is hardly tried";
}

INSTANTIATE_TEST_SUITE_P(Cards, BothWays,
                         testing::Values(Case{"24", "all=0"}, Case{"8-40", "all=0"}, Case{"8-200", "missing=1e-3"},
                                         Case{"24", "late=1e-3"}, Case{"8-40", "duplicated=1e-3,swapped=1e-3"},
                                         Case{"24", "lost_block=1e-2,lost_lap=1e-3,garbage_block=5e-3"},
                                         Case{"8-40", "truncated=1e-3,crc=1e-3,error=1e-3,busy=1e-3"},
                                         Case{"24", "dead_link=3e-4"}, Case{"8-40", "all=5e-4"},
                                         Case{"100-700", "all=1e-3"}));

TEST(GroupByEvent, AStreamThatLagsHoldsBackNoBlockForLong) {
    auto options = options_of(3);
    TestGroup test(options);
    std::vector<Bytes> blocks;
    std::vector<felix::BlockWriter> writers;
    for (std::uint16_t stream = 0; stream < 3; ++stream) {
        writers.emplace_back(options.format, stream, [&](std::span<std::byte const> block) {
            blocks.emplace_back(block.begin(), block.end());
        });
    }
    auto const write = [&](std::size_t stream, std::uint32_t first, std::uint32_t count) -> Bytes& {
        for (std::uint32_t l1id = first; l1id < first + count; ++l1id) {
            Bytes packet(24);
            felix::fill_packet(packet, 0, {l1id, static_cast<std::uint16_t>(stream), felix::bcid_of(l1id)});
            writers[stream].write(packet);
        }
        writers[stream].flush();
        blocks.back().resize(options.format.block_bytes + felix::kReadableBehind);
        return blocks.back();
    };
    blocks.reserve(100); // groups keep pointers to them
    auto& group = test.group;
    for (std::size_t stream = 0; stream < 3; ++stream) group.hold_block(stream, write(stream, 0, 20).data(), stream);
    test.tick(1000);
    EXPECT_EQ(group.held_from(), HeldPackets::kNone) << "all were there";
    group.hold_block(0, write(0, 20, 20).data(), 3);
    group.hold_block(1, write(1, 20, 20).data(), 4);
    test.tick(1000);
    EXPECT_EQ(group.held_from(), 3u) << "they wait for stream 2";
    test.tick(6'000'000); // a little more than packets wait, and much less than `close_after`
    EXPECT_EQ(group.held_from(), HeldPackets::kNone);
    group.hold_block(2, write(2, 20, 20).data(), 5);
    test.tick(1000);
    EXPECT_EQ(group.report().complete, 40u);
    for (std::uint32_t block = 0; block < 2 * HeldPackets::kMostBlocks; ++block) {
        group.hold_block(1, write(1, 40 + block, 1).data(), 6 + block);
        test.tick(1); // a stream that is far ahead
        if (group.held_from() == HeldPackets::kNone) continue;
        EXPECT_LT(6 + block - group.held_from(), HeldPackets::kMostBlocks);
    }
}

} // namespace
} // namespace thalweg::readout
