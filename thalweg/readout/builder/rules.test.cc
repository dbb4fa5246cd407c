// Tests the rules of events (docs/readout.md) that one group keeps.
#include <gtest/gtest.h>

#include "thalweg/readout/builder/test_group.h"

namespace thalweg::readout {
namespace {

using Report = StreamReport;

constexpr std::uint32_t ecr(std::uint32_t step, std::uint32_t l1id) { return step << 24 | l1id; }

TEST(Rule1Identity, TheEpochBeginsAtOne) {
    TestGroup test(2);
    test.send_all(5);
    test.tick();
    EXPECT_EQ(test.closed(), kEpoch1 + 6);
    EXPECT_EQ(test.header(kEpoch1 + 5).event, kEpoch1 + 5);
    EXPECT_EQ(test.header(kEpoch1 + 5).run, 7u);
}

TEST(Rule1Identity, AReaderThatComesLaterGoesOnInTheEpochOfTheOneBefore) {
    auto options = TestGroup::options_of(2);
    options.newest_event = 3 * kEpoch1 + 0xFFFF'FFF0u;
    TestGroup test(options);
    test.send_all(2); // 32 bits have wrapped since
    test.tick();
    EXPECT_EQ(test.closed(), 4 * kEpoch1 + 3);
}

TEST(Rule1Identity, The32BitsWrapIntoTheNextEpoch) {
    TestGroup test(2);
    for (std::uint32_t i = 0; i < 64; ++i) test.send_all(0xFFFF'FFE0u + i);
    test.tick();
    EXPECT_EQ(test.closed(), 2 * kEpoch1 + 32);
    EXPECT_EQ(test.group.report().complete, 64u);
    EXPECT_EQ(test.group.report().jumps, 0u);
}

TEST(Rule1Identity, PacketsOutsideTheWindowAreCountedAndDropped) {
    TestGroup test(4);
    for (std::uint32_t i = 0; i < 32; ++i) test.send_all(i);
    test.send(0, 5'000'000); // one stream alone: no jump
    for (std::uint32_t i = 32; i < 160; ++i) test.send_all(i);
    test.tick();
    auto const report = test.group.report();
    EXPECT_EQ(report.jumps, 0u);
    EXPECT_EQ(report.complete, 160u);
    EXPECT_EQ(sum(report, &Report::orphaned) + sum(report, &Report::out_of_window), 1u);
}

TEST(Rule1Identity, AnEcrStepIsAnAgreedJumpAndLosesNothing) {
    TestGroup test(4);
    // Every stream hands over whole blocks of 16 events, one stream after the other, across the step.
    auto const number = [](std::uint32_t i) { return i < 100 ? ecr(0, i) : ecr(1, i - 100); };
    for (std::uint32_t i = 0; i < 320; i += 16) {
        for (std::size_t stream = 0; stream < 4; ++stream) {
            for (std::uint32_t k = i; k < i + 16; ++k) test.put(stream, number(k));
            test.send(stream, number(i + 15)); // a duplicate, too
        }
        test.tick();
    }
    test.finish();
    auto const report = test.group.report();
    EXPECT_EQ(report.complete, 320u);
    EXPECT_EQ(report.incomplete, 0u);
    EXPECT_EQ(report.absent, 0u);
    EXPECT_EQ(report.jumps, 1u);
    EXPECT_EQ(sum(report, &Report::delivered), 4 * 320u);
    EXPECT_EQ(sum(report, &Report::duplicate), 4 * 20u);
    EXPECT_EQ(test.header(kEpoch1 + ecr(1, 0)).event, kEpoch1 + ecr(1, 0));
    EXPECT_EQ(test.header(kEpoch1 + 99).event, kEpoch1 + 99);
    EXPECT_FALSE(test.group.ring().place_of(kEpoch1 + 100).known) << "events between were never there";
}

TEST(Rule1Identity, ALinkOfItsOwnJumpsOnlyWithSeveralPackets) {
    TestGroup test(1);
    for (std::uint32_t i = 0; i < 100; ++i) test.send_all(i);
    test.send_all(0x7000'0000); // a damaged number
    for (std::uint32_t i = 100; i < 200; ++i) test.send_all(i);
    test.tick();
    EXPECT_EQ(test.group.report().jumps, 0u);
    EXPECT_EQ(test.closed(), kEpoch1 + 200);
}

TEST(Rule1Identity, ACardThatBeginsAnewBeginsAnEpoch) {
    TestGroup test(2);
    for (std::uint32_t i = 0; i < 100; ++i) test.send_all(i);
    test.tick();
    test.group.begin_epoch(test.group.next_epoch());
    for (std::uint32_t i = 0; i < 50; ++i) test.send_all(i);
    test.tick();
    EXPECT_EQ(test.closed(), 2 * kEpoch1 + 50);
    EXPECT_EQ(test.group.report().complete, 150u);
}

TEST(Rule1Identity, NumbersThatFallBackForGoodBeginAnEpoch) {
    TestGroup test(2);
    for (std::uint32_t i = 0; i < 300; ++i) test.send_all(i);
    test.tick();
    for (std::uint32_t i = 0; i < 300; ++i) test.send_all(i); // late at first
    test.tick();
    EXPECT_EQ(test.group.report().jumps, 1u);
    EXPECT_GT(sum(test.group.report(), &Report::late), 0u);
    test.finish();
    EXPECT_EQ(test.closed(), 2 * kEpoch1 + 300);
    for (auto const& stream : test.group.report().streams) EXPECT_TRUE(stream.balances());
}

TEST(Rule1Identity, LinksThatLagBehindAreLateAndNoReset) {
    TestGroup test(5);
    std::uint32_t event = 0;
    for (; event < 100; ++event) test.send_all(event);
    test.tick();
    for (; event < 500; ++event) { // three links pause, and events grow old
        test.send(0, event);
        test.send(1, event);
        if (event % 32 == 0) test.tick(10'000'000);
    }
    test.tick(51'000'000);
    for (std::uint32_t old = 100; old < 480; ++old) {
        for (std::size_t stream = 2; stream < 5; ++stream) test.send(stream, old);
        if (old % 8 != 0) continue;
        test.send(0, event), test.send(1, event), ++event; // the others go on
    }
    test.tick();
    EXPECT_EQ(test.group.report().jumps, 0u);
    EXPECT_LT(test.closed(), 2 * kEpoch1);
    EXPECT_GT(sum(test.group.report(), &Report::late), 900u);
}

TEST(Rule1Identity, AGroupThatBeginsLaterTakesTheEpochOfTheOthers) {
    auto options = TestGroup::options_of(2);
    options.activity->newest_event = 3 * kEpoch1 + 500;
    TestGroup test(options);
    test.send_all(510);
    test.tick();
    EXPECT_EQ(test.closed(), 3 * kEpoch1 + 511);
}

TEST(Rule1Identity, WrongFirstNumbersAreForgotten) {
    TestGroup test(3);
    test.send(1, 0x8000'0000); // a flipped bit
    for (std::uint32_t i = 0; i < 100; ++i) test.send_all(i);
    test.tick();
    test.finish();
    auto const report = test.group.report();
    EXPECT_EQ(test.closed(), kEpoch1 + 100);
    EXPECT_EQ(report.complete, 100u);
    EXPECT_EQ(report.incomplete, 0u);
    EXPECT_EQ(sum(report, &Report::orphaned), 1u);
    for (auto const& stream : report.streams) EXPECT_TRUE(stream.balances());
}

TEST(Rule1Identity, AWrongNumberDoesNotHoldUpTheOthers) {
    auto options = TestGroup::options_of(2);
    options.index.close_after_events = 200;
    TestGroup test(options);
    for (std::uint32_t i = 0; i < 10; ++i) test.send_all(i);
    test.send(0, 0x7000'0000);
    // The streams advance by far more than a window, without a tick between.
    for (std::uint32_t i = 10; i < 1500; ++i) test.send_all(i);
    test.tick();
    EXPECT_EQ(test.group.report().complete, 1500u);
    EXPECT_EQ(sum(test.group.report(), &Report::out_of_window), 0u);
    EXPECT_EQ(sum(test.group.report(), &Report::orphaned), 1u);
}

TEST(Rule2Closing, CompleteWhenEveryEnabledStreamArrived) {
    auto options = TestGroup::options_of(3);
    options.group.disabled = {1};
    TestGroup test(options);
    test.send(0, 0);
    test.tick();
    EXPECT_EQ(test.closed(), 0u) << "stream 2 is missing";
    test.send(2, 0);
    test.tick();
    EXPECT_EQ(test.closed(), kEpoch1 + 1);
    auto const header = test.header(kEpoch1);
    EXPECT_EQ(header.status, 0u);
    EXPECT_EQ(header.stream_map, 0b101u);
    EXPECT_EQ(header.enabled_map, 0b101u);
}

TEST(Rule2Closing, IncompleteWhenEveryLiveStreamIsFarPast) {
    TestGroup test(2);
    test.send_all(0);
    test.send(0, 1); // stream 1 misses event 1
    for (std::uint32_t i = 2; i < 65; ++i) test.send_all(i);
    test.tick();
    EXPECT_EQ(test.closed(), kEpoch1 + 1) << "63 events past are not 64";
    test.send_all(65);
    test.send_all(66);
    test.tick();
    EXPECT_EQ(test.closed(), kEpoch1 + 67);
    EXPECT_EQ(test.header(kEpoch1 + 1).status, kIncomplete);
    EXPECT_EQ(test.header(kEpoch1 + 1).stream_map, 0b01u);
}

TEST(Rule2Closing, IncompleteWhenTimeWentBy) {
    TestGroup test(2);
    test.tick();
    test.send_all(0);
    test.send(0, 1);
    test.tick(40'000'000);
    EXPECT_EQ(test.closed(), kEpoch1 + 1);
    test.tick(11'000'000);
    EXPECT_EQ(test.closed(), kEpoch1 + 2);
    EXPECT_EQ(test.header(kEpoch1 + 1).status, kIncomplete | kTimedOut);
    EXPECT_EQ(test.header(kEpoch1 + 1).build_us, 51'000u);
}

TEST(Rule2Closing, AbsentWhenTheWatermarkPassedWithoutAnyPacket) {
    TestGroup test(2);
    for (std::uint32_t i = 0; i < 200; ++i) {
        if (i < 10 || i >= 20) test.send_all(i);
    }
    test.tick();
    EXPECT_EQ(test.group.report().absent, 10u);
    EXPECT_TRUE(test.fragment(kEpoch1 + 15).empty());
    EXPECT_EQ(test.closed(), kEpoch1 + 200);
}

TEST(Rule2Closing, AHoleAtTheEndIsGivenUpAfterAWhile) {
    TestGroup test(2);
    test.send_all(0);
    test.send_all(5);
    test.tick();
    EXPECT_EQ(test.closed(), kEpoch1 + 1);
    test.tick(51'000'000);
    test.tick();
    EXPECT_EQ(test.closed(), kEpoch1 + 6);
    EXPECT_EQ(test.group.report().absent, 4u);
}

TEST(Rule2Closing, TheFirstPacketWinsAndDuplicatesAreCounted) {
    TestGroup test(2);
    test.send(0, 0, 24);
    test.send(0, 0, 32);
    test.send(1, 0, 24);
    test.tick();
    auto const bytes = test.fragment(kEpoch1);
    FragmentView const fragment(bytes);
    EXPECT_EQ(fragment.payload(0).size(), 24u);
    EXPECT_TRUE(felix::is_intact(fragment.payload(0), 0, 0));
    EXPECT_EQ(fragment.header().status, kDuplicate);
    EXPECT_EQ(sum(test.group.report(), &Report::duplicate), 1u);
}

TEST(Rule2Closing, APacketOfAClosedEventIsLateAndAltersNothing) {
    TestGroup test(2);
    for (std::uint32_t i = 0; i < 200; ++i) {
        test.send(0, i);
        if (i != 7) test.send(1, i);
    }
    test.tick();
    auto const before = test.fragment(kEpoch1 + 7);
    std::vector<std::byte> const copy(before.begin(), before.end());
    test.send(1, 7);
    test.tick();
    auto const after = test.fragment(kEpoch1 + 7);
    EXPECT_TRUE(std::equal(after.begin(), after.end(), copy.begin(), copy.end()));
    EXPECT_EQ(sum(test.group.report(), &Report::late), 1u);
}

TEST(Rule2Closing, ADeadLinkIsNotWaitedForAndComesBackWithData) {
    TestGroup test(3);
    test.tick();
    std::uint32_t event = 0;
    for (; event < 100; ++event) test.send_all(event);
    for (; event < 300; ++event) {
        test.send(0, event);
        test.send(1, event);
        if (event % 20 == 0) test.tick(10'000'000);
    }
    test.tick(110'000'000);
    test.send(0, event);
    test.send(1, event);
    test.tick(10'000'000);
    auto const dead = test.group.report();
    EXPECT_FALSE(dead.streams[2].live);
    EXPECT_EQ(dead.streams[2].deaths, 1u);
    test.send(0, 301);
    test.send(1, 301);
    for (event = 302; event < 400; ++event) test.send_all(event);
    test.tick();
    EXPECT_TRUE(test.group.report().streams[2].live);
    EXPECT_EQ(test.header(kEpoch1 + 350).status, 0u);
    EXPECT_NE(test.header(kEpoch1 + 250).status & kIncomplete, 0u);
}

TEST(Rule3FullIndex, BusyStopsReadingUntilEventsAreCleared) {
    TestGroup test(1);
    std::uint32_t event = 0;
    while (test.refused == 0) {
        test.send_range(0, event, 32);
        event += 32;
        test.tick();
        ASSERT_LT(event, 10'000u);
    }
    EXPECT_GT(event, 1000u);
    EXPECT_EQ(test.group.ring().books().evicted, 0u);
    EXPECT_FALSE(test.group.has_room());
    test.group.ring().release(test.closed());
    EXPECT_TRUE(test.group.has_room());
}

TEST(Rule3FullIndex, EvictGivesUpTheOldestAndCountsThem) {
    auto options = TestGroup::options_of(1);
    options.index.when_full = WhenFull::evict;
    TestGroup test(options);
    for (std::uint32_t event = 0; event < 20'000; event += 32) {
        test.send_range(0, event, 32);
        test.tick();
    }
    EXPECT_EQ(test.refused, 0u);
    auto const& ring = test.group.ring();
    EXPECT_GT(test.group.ring().books().evicted, 10'000u);
    auto const oldest = ring.place_of(kEpoch1 + 1000);
    EXPECT_LT(oldest.position, ring.kept_from());
    EXPECT_EQ(test.header(kEpoch1 + 19'999).event, kEpoch1 + 19'999);
}

TEST(Rule3FullIndex, WhatIsReadIsNotEvicted) {
    auto options = TestGroup::options_of(1);
    options.index.when_full = WhenFull::evict;
    TestGroup test(options);
    test.send_range(0, 0, 100);
    test.tick();
    auto const place = test.group.ring().place_of(kEpoch1);
    {
        EventRing::Pin const pin(test.group.ring(), 3, place.position);
        for (std::uint32_t event = 100; event < 10'000 && test.refused == 0; event += 32) {
            test.send_range(0, event, 32);
            test.tick();
        }
        EXPECT_GT(test.refused, 0u);
        EXPECT_EQ(test.header(kEpoch1 + 5).event, kEpoch1 + 5);
    }
    EXPECT_TRUE(test.group.has_room());
}

TEST(Rule5Restart, ALatePacketOfWhatTheReaderBeforeHadClosedIsLateAndBeginsNothing) {
    auto options = TestGroup::options_of(2);
    options.newest_event = kEpoch1 + 1000;
    options.closed_event = kEpoch1 + 990;
    TestGroup test(options);
    test.send(1, 500);
    test.tick();
    EXPECT_EQ(test.group.report().streams[1].late, 1u);
    for (std::uint32_t i = 985; i < 1200; ++i) test.send_all(i);
    test.tick();
    test.finish();
    EXPECT_EQ(test.group.ring().next_known(0), kEpoch1 + 990);
    EXPECT_EQ(sum(test.group.report(), &StreamReport::late), 1u + 2u * 5u);
    EXPECT_EQ(test.group.report().complete, 210u);
    EXPECT_EQ(test.group.report().incomplete, 0u);
}

TEST(Rule5Restart, NumbersThatBeganAnewAreNotLateForEver) {
    auto options = TestGroup::options_of(2);
    options.newest_event = kEpoch1 + 1000;
    options.closed_event = kEpoch1 + 990;
    TestGroup test(options);
    for (std::uint32_t i = 0; i < 400; ++i) test.send_all(i);
    test.tick();
    test.finish();
    EXPECT_GT(test.group.report().complete, 300u);
}

TEST(Rule5Restart, EventsBeforeTheStreamsFirstOnesAreMarked) {
    auto options = TestGroup::options_of(2);
    options.newest_event = kEpoch1 + 1000;
    TestGroup test(options);
    for (std::uint32_t i = 1000; i < 1200; ++i) {
        test.send(0, i);
        if (i >= 1030) test.send(1, i);
    }
    test.tick();
    EXPECT_EQ(test.header(kEpoch1 + 1010).status, kIncomplete | kRestart);
    EXPECT_EQ(test.header(kEpoch1 + 1030).status, 0u);
    EXPECT_EQ(test.group.report().incomplete, 30u);
}

} // namespace
} // namespace thalweg::readout
