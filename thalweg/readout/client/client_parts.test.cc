// Tests each class of a client alone.
#include <gtest/gtest.h>

#include "thalweg/readout/client/own_ranges.h"
#include "thalweg/readout/client/requests.h"
#include "thalweg/readout/client/sampler.h"
#include "thalweg/readout/client/taken_events.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kLeaseNs = 1'000'000'000;

TEST(OwnRanges, ARangeIsCommittedOnceForEachKeyAndMayBeCutShort) {
    OwnRanges ranges;
    ranges.add({{1, 100, 10}, {}});
    ranges.add({{1, 110, 10}, {}});
    ranges.add({{1, 100, 10}, RangeKey{7}});
    EXPECT_TRUE(ranges.contain({1, 100, 10}));
    EXPECT_FALSE(ranges.contain({1, 100, 9})) << "another range";
    auto const committed = ranges.commit({1, 100, 6});
    ASSERT_EQ(committed.size(), 2u);
    EXPECT_EQ(committed[0].id.count, 6u);
    EXPECT_NE(committed[0].key, committed[1].key);
    EXPECT_EQ(ranges.oldest().id.first, 106u) << "the rest of it";
    EXPECT_TRUE(ranges.commit({2, 110, 10}).empty()) << "of another run";
    EXPECT_EQ(ranges.commit({1, 106, 4}).size(), 2u) << "under the same keys";
    EXPECT_EQ(ranges.oldest().id.first, 110u);
}

TEST(OwnRangesDeathTest, MoreThanWasTakenIsNotCommitted) {
    OwnRanges ranges;
    ranges.add({{1, 100, 10}, {}});
    EXPECT_DEATH(ranges.commit({1, 100, 11}), "no more can be committed than was taken");
}

TEST(PendingClears, ARefusedClearIsTriedForTwoLeases) {
    PendingClears clears;
    OwnRange const range{{1, 100, 10}, {}};
    EXPECT_TRUE(clears.try_again({range}, kLeaseNs, 5));
    EXPECT_TRUE(clears.tries_again());
    EXPECT_TRUE(clears.take_due(5).empty()) << "not at once";
    auto const due = clears.take_due(5 + kLeaseNs / 8);
    ASSERT_EQ(due.size(), 1u);
    EXPECT_TRUE(clears.empty());
    EXPECT_EQ(due[0].what.give_up_ns, 5 + 2 * kLeaseNs);
    EXPECT_TRUE(clears.try_again(due[0].what, kLeaseNs, due[0].what.give_up_ns - 1));
    EXPECT_FALSE(clears.try_again(due[0].what, kLeaseNs, due[0].what.give_up_ns));
}

TEST(PendingClears, WhatIsHeldForAnotherRunGoesWithIt) {
    PendingClears clears;
    clears.hold({{1, 100, 10}, {}});
    clears.hold({{2, 100, 10}, {}});
    clears.drop_held([](RangeId const& id) { return id.run == 1; });
    auto const held = clears.take_held();
    ASSERT_EQ(held.size(), 1u);
    EXPECT_EQ(held[0].id.run, 2u);
    EXPECT_TRUE(clears.empty());
}

TEST(TakenEvents, WhatIsMissingAfterANewStartIsCountedUntilAnotherHandlerHasIt) {
    TakenEvents taken;
    EXPECT_EQ(taken.add({.first = 100, .run = 1, .count = 10}), 0u);
    EXPECT_EQ(taken.add({.first = 120, .run = 1, .count = 10}), 0u) << "jumps are the handler's to make";
    taken.started_anew();
    EXPECT_TRUE(taken.counts_from_the_beginning({.first = 100, .run = 1, .count = 10}));
    EXPECT_FALSE(taken.counts_from_the_beginning({.first = 100, .run = 1, .count = 10, .continues = 1}));
    EXPECT_FALSE(taken.counts_from_the_beginning({.first = 100, .run = 2, .count = 10}));
    EXPECT_EQ(taken.add({.first = 150, .run = 1, .count = 10}), 20u);
    EXPECT_EQ(taken.found(140, 160), 10u);
    EXPECT_EQ(taken.found(140, 160), 0u) << "only once";
    EXPECT_EQ(taken.add({.first = 170, .run = 1, .count = 10}), 0u);
    EXPECT_EQ(taken.add({.first = 5, .run = 2, .count = 10}), 0u);
    EXPECT_EQ(taken.end(), 15u) << "another run";
}

TEST(JoinedState, SaysOfSeveralHandlersWhatWeighsMost) {
    JoinedState joined;
    joined.add(EventState::complete, false, false);
    EXPECT_EQ(joined.of_event(), EventState::complete);
    joined.add(EventState::absent, false, true);
    EXPECT_EQ(joined.of_event(), EventState::incomplete);
    EXPECT_EQ(joined.of_nothing(), JoinedState::Nothing::absent);
    joined.add(EventState::cleared, false, true);
    EXPECT_EQ(joined.of_nothing(), JoinedState::Nothing::cleared);
    joined.add(EventState::evicted, false, true);
    EXPECT_EQ(joined.of_event(), EventState::evicted);
    EXPECT_EQ(joined.of_nothing(), JoinedState::Nothing::evicted);
    joined.add(EventState::not_yet, true, true);
    EXPECT_EQ(joined.of_nothing(), JoinedState::Nothing::lost);
}

TEST(Sampler, GoesFromRangeToRangeWithinAnEcrAndAsksAnewWhenItHasFallenBehind) {
    Sampler sampler(1, 64);
    EXPECT_FALSE(sampler.next({})) << "nothing is closed yet";
    Welcome const welcome{.run = 7, .first_event = (1 << 24) - 100, .closed_event = 1 << 24};
    auto const first = sampler.next(welcome);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->first, (1u << 24) - 64);
    EXPECT_EQ(sampler.next(welcome)->first, 1u << 24);
    sampler.has_fallen_behind();
    EXPECT_FALSE(sampler.next(welcome));
    EXPECT_TRUE(sampler.next(welcome));
}

} // namespace
} // namespace thalweg::readout
