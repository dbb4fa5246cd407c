// Tests each class of a group alone. rules.test.cc tests them together.
#include <gtest/gtest.h>

#include "thalweg/readout/builder/event_closer.h"
#include "thalweg/readout/builder/event_numbers.h"
#include "thalweg/readout/builder/group_streams.h"
#include "thalweg/readout/builder/jump_candidate.h"
#include "thalweg/readout/builder/ring_room.h"
#include "thalweg/readout/builder/test_group.h"

namespace thalweg::readout {
namespace {

using Verdict = JumpCandidate::Verdict;

TEST(EventNumbers, ThirtyTwoBitsBecomeTheNearestEventToTheReference) {
    EventNumbers const numbers(1);
    EXPECT_EQ(numbers.event_of(5, kEpoch1 + 0xFFFF'FFFFu), 2 * kEpoch1 + 5) << "they have wrapped";
    EXPECT_EQ(numbers.event_of(0xFFFF'FFFFu, 2 * kEpoch1), 2 * kEpoch1 - 1) << "a little late";
    EXPECT_EQ(numbers.first_event(7, 0), kEpoch1 + 7);
    EXPECT_EQ(numbers.first_event(7, 4 * kEpoch1), 4 * kEpoch1 + 7) << "another stream has seen another epoch";
    EXPECT_EQ(numbers.epoch_behind(3 * kEpoch1 + 1), 4 * kEpoch1);
}

TEST(EventNumbers, AnEpochThatWasToldCountsUntilAStreamIsPastIt) {
    EventNumbers numbers(100);
    numbers.begin_epoch(2 * kEpoch1);
    EXPECT_EQ(numbers.first_event(1000, kEpoch1 / 100 + 3), (2 * kEpoch1 + 1000) / 100);
    EXPECT_EQ(numbers.first_event(1000, 3 * kEpoch1 / 100), (3 * kEpoch1 + 1000) / 100);
}

TEST(EventNumbersDeathTest, AnEpochBeginsWhereThirtyTwoBitsAreZero) {
    EventNumbers numbers(1);
    EXPECT_DEATH(numbers.begin_epoch(kEpoch1 + 1), "an epoch begins where 32 bits are 0");
}

TEST(OpenStretch, ItsWindowEndsWithTheFirstOfItsLimits) {
    OpenStretch stretch(1000, 300, 200, 350);
    auto const window = stretch.window(0, 10'000, 64);
    EXPECT_TRUE(window.holds(900));
    EXPECT_FALSE(window.holds(899)) << "in front of it";
    EXPECT_TRUE(window.holds(1049));
    EXPECT_FALSE(window.holds(1050)) << "there the next stretch begins";
    EXPECT_FALSE(stretch.window(0, 10'000, 32).holds(1032)) << "too far ahead of the newest event";
    EXPECT_FALSE(stretch.window(0, 310, 64).holds(1010)) << "no slot is free";
    EXPECT_FALSE(stretch.window(250, 10'000, 64).holds(949)) << "closed";
    EXPECT_FALSE(stretch.window(350, 310, 64).holds(1049)) << "nothing is left";
}

TEST(OpenStretchDeathTest, KeepsToItsPositionsAndAdvances) {
    OpenStretch stretch(1000, 300, 200, 350);
    EXPECT_DEATH(stretch.advance_to(1050), "a stretch keeps to its positions");
    EXPECT_DEATH(stretch.advance_to(999), "only advances");
    EXPECT_DEATH(stretch.end_before(300), "a stretch keeps to its positions");
    EXPECT_DEATH(stretch.announce(), "announced once, when it has an event");
    stretch.begin_event(320);
    EXPECT_DEATH(stretch.advance_to(1010), "between its lowest and its newest one");
    stretch.advance_to(1020);
    stretch.announce();
    EXPECT_DEATH(stretch.announce(), "announced once");
}

TEST(JumpCandidate, CountsWhenMostLiveStreamsMadeItWithEnoughPackets) {
    IndexConfig const index{.close_after_events = 64};
    JumpCandidate jump(OpenStretch(9000, 1000, 900, 1200), 500, 0);
    for (std::uint64_t packet = 0; packet < 20; ++packet) jump.note(0, packet % 2 == 1, 1000 + packet / 2);
    EXPECT_EQ(jump.judge(0b111, 500, 1, index, false), Verdict::open) << "one of three";
    jump.note(2, false, 1000);
    EXPECT_EQ(jump.judge(0b111, 500, 1, index, false), Verdict::accepted);
    EXPECT_EQ(jump.share_of(0).delivered, 10u);
    EXPECT_EQ(jump.share_of(0).duplicates, 10u);
    EXPECT_EQ(jump.share_of(0).progress, 1010u);
    EXPECT_EQ(jump.share_of(1).packets(), 0u);
}

TEST(JumpCandidate, IsRejectedWhenTheOthersGoOn) {
    IndexConfig const index{.close_after_events = 64, .close_after_ns = 1000};
    JumpCandidate jump(OpenStretch(9000, 1000, 900, 1200), 500, 0);
    jump.note(0, false, 1000);
    EXPECT_EQ(jump.judge(0b111, 564, 1000, index, false), Verdict::open);
    EXPECT_EQ(jump.judge(0b111, 565, 1, index, false), Verdict::rejected) << "W events further";
    EXPECT_EQ(jump.judge(0b111, 501, 1001, index, false), Verdict::rejected) << "T went by";
    EXPECT_EQ(jump.judge(0b111, 500, 1001, index, false), Verdict::open) << "but no stream went on";
    EXPECT_EQ(jump.judge(0b111, 500, 1, index, true), Verdict::rejected) << "no stream will say more";
    EXPECT_EQ(jump.judge(0b001, 500, 1, index, true), Verdict::accepted) << "nor does it need to";
}

TEST(LateStreak, BeginsAnewWhenTheNewestEventMoves) {
    LateStreak late;
    EXPECT_FALSE(late.is_longer(2, 10));
    EXPECT_FALSE(late.is_longer(2, 10));
    EXPECT_FALSE(late.is_longer(2, 11));
    EXPECT_FALSE(late.is_longer(2, 11));
    EXPECT_TRUE(late.is_longer(2, 11));
    late.end();
    EXPECT_FALSE(late.is_longer(2, 11));
}

TEST(HoleWait, HolesInARowDoNotAddUpTheirWaiting) {
    HoleWait hole;
    EXPECT_FALSE(hole.is_over(5, 100, 50));
    EXPECT_FALSE(hole.is_over(5, 150, 50));
    EXPECT_TRUE(hole.is_over(5, 151, 50));
    EXPECT_TRUE(hole.is_over(6, 151, 50));
    EXPECT_FALSE(hole.is_over(8, 151, 50)) << "another hole";
}

class Parts : public testing::Test {
  protected:
    Parts() : context(options()), streams(context), hook(context.options), writer(context, hook, 0b101) {}

    static GroupOptions options() {
        auto options = TestGroup::options_of(3);
        options.group.disabled = {1};
        return options;
    }
    // Returns a fragment with a packet of one stream.
    FragmentHeader* fragment_of(std::uint64_t event, std::size_t stream) {
        auto* const fragment = context.ring.slot(event);
        std::vector<std::byte> const bytes(64);
        writer.begin(fragment, event, {});
        writer.put<false>(fragment, stream, {bytes.data(), 24, 0}, {});
        return fragment;
    }

    GroupContext context;
    GroupStreams streams;
    GroupHook hook;
    FragmentWriter writer;
};

TEST_F(Parts, StreamsPassAnEventTogether) {
    EXPECT_EQ(streams.enabled_map(), 0b101u);
    EXPECT_EQ(streams.passed_position(), 0u) << "none lives";
    streams.note_delivery(0, 1000);
    EXPECT_EQ(streams.passed_position(), 1000u - 64);
    EXPECT_EQ(streams.why_missing(0b100, 500), kDeadLink);
    streams.note_delivery(2, 600);
    EXPECT_EQ(streams.passed_position(), 600u - 64);
    EXPECT_EQ(streams.why_missing(0b100, 500), kRestart) << "its first packet is of a later event";
    EXPECT_EQ(streams.why_missing(0b100, 700), 0u) << "it was lost";
}

TEST_F(Parts, AStreamIsDeadWhenItIsSilentWhileOthersGoOn) {
    OpenStretch const stretch(1000, 1000, 0);
    context.now_ns = 1'000'000'000;
    for (std::size_t stream : {0, 2}) {
        streams.note_packets(streams[stream]);
        streams.note_delivery(stream, 1000);
    }
    context.now_ns += context.options.index.dead_after_ns + 1;
    streams.note_packets(streams[0]);
    streams.look_for_dead(stretch, 1064);
    EXPECT_EQ(streams.live_map(), 0b101u) << "no stream went on by more than W events";
    context.now_ns += 1'000'000;
    streams.look_for_dead(stretch, 1065);
    EXPECT_EQ(streams.live_map(), 0b001u);
    EXPECT_EQ(streams.report()[2].deaths, 1u);
}

using PartsDeathTest = Parts;

TEST_F(PartsDeathTest, ADisabledStreamDeliversNothing) {
    EXPECT_DEATH(streams.note_delivery(1, 10), "a stream that is disabled delivers nothing");
    EXPECT_DEATH(writer.finish(fragment_of(5, 1), kIncomplete), "of streams that are enabled");
}

TEST_F(PartsDeathTest, AFragmentIsCompleteWhenEveryEnabledStreamIsInItAndOnlyThen) {
    EXPECT_DEATH(writer.finish(fragment_of(5, 0), 0), "a fragment is complete when");
    auto* const fragment = fragment_of(6, 0);
    std::vector<std::byte> const bytes(64);
    writer.put<false>(fragment, 2, {bytes.data(), 24, 0}, {});
    EXPECT_DEATH(writer.finish(fragment, kIncomplete), "a fragment is complete when");
    writer.finish(fragment, 0);
    EXPECT_EQ(fragment->status, 0u);
    EXPECT_EQ(writer.typical_bytes(), fragment->length_bytes);
}

TEST_F(PartsDeathTest, AnEventIsClosedOnce) {
    EventCloser closer(context, streams, writer);
    OpenStretch stretch(1000, 300, 200);
    fragment_of(1000, 0);
    stretch.begin_event(300);
    closer.skip_to(301);
    EXPECT_DEATH(closer.close(stretch, 0, true), "an event is closed once");
}

TEST(GroupDeathTest, ABlockIsTakenOnlyWhenThereIsRoom) {
    TestGroup test(1);
    for (std::uint32_t event = 0; test.refused == 0; event += 32) {
        test.send_range(0, event, 32);
        test.tick();
        ASSERT_LT(event, 10'000u);
    }
    std::vector<std::byte> const block(test.options_.format.block_bytes + 64);
    EXPECT_DEATH(test.group.take_block(0, block.data()), "a block is taken when there is room");
    EXPECT_DEATH(test.group.take_block(1, block.data()), "a block is of a stream of its group");
}

} // namespace
} // namespace thalweg::readout
