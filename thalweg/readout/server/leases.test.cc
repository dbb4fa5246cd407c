#include "thalweg/readout/server/leases.h"

#include <gtest/gtest.h>

#include "thalweg/readout/server/testing_owners.h"

namespace thalweg::readout {
namespace {

EventSpan everything(std::uint64_t from) { return {from, 1'000'000}; }

EventSpan take(Leases& leases, OwnerId const& owner, std::uint64_t count, std::uint64_t now_ns = 0) {
    auto const taking = leases.take(owner, count, now_ns, everything);
    return taking ? taking->range : EventSpan{};
}

TEST(Leases, Rule4CollectorsTakeDisjointRanges) {
    Leases leases(kLeaseNs);
    EXPECT_EQ(take(leases, kAlice, 10), (EventSpan{0, 10}));
    EXPECT_EQ(take(leases, kBob, 5), (EventSpan{10, 5}));
    EXPECT_EQ(take(leases, kAlice, 1), (EventSpan{15, 1}));
    EXPECT_EQ(leases.outstanding(), 16u);
    EXPECT_EQ(leases.outstanding(kAlice), 5u);
}

TEST(Leases, Rule4OnlyTheOwnerOfARangeClearsItAndAsOftenAsItLikes) {
    Leases leases(kLeaseNs);
    take(leases, kAlice, 10);
    take(leases, kBob, 10);
    EXPECT_FALSE(leases.clear(kBob, {0, 10}, 0));
    EXPECT_FALSE(leases.clear(kAlice, {5, 10}, 0)) << "a part of it is Bob's";
    EXPECT_TRUE(leases.is_cleared(5)) << "that is hers";
    EXPECT_FALSE(leases.is_cleared(10));
    EXPECT_EQ(leases.cleared_before(), 0u);
    EXPECT_TRUE(leases.clear(kAlice, {0, 10}, 0));
    EXPECT_TRUE(leases.clear(kAlice, {0, 10}, 0));
    EXPECT_TRUE(leases.is_cleared(5));
    EXPECT_EQ(leases.cleared_before(), 10u);
    EXPECT_EQ(leases.outstanding(), 10u);
}

TEST(Leases, Rule4TheLeaseOfASilentOwnerExpiresAndItsRangesGoToAnother) {
    Leases leases(kLeaseNs);
    take(leases, kAlice, 10, 0);
    EXPECT_EQ(take(leases, kBob, 10, kLeaseNs), (EventSpan{10, 10})) << "not yet";
    auto const taking = leases.take(kBob, 10, kLeaseNs + 1, everything);
    ASSERT_TRUE(taking);
    EXPECT_EQ(taking->range, (EventSpan{0, 10}));
    EXPECT_TRUE(taking->again);
    EXPECT_EQ(leases.expired(), 1u);
    EXPECT_FALSE(leases.clear(kAlice, {0, 10}, kLeaseNs + 2)) << "she comes too late";
}

TEST(Leases, ASignOfLifeKeepsALease) {
    Leases leases(kLeaseNs);
    take(leases, kAlice, 10, 0);
    leases.renew(kAlice, 900);
    EXPECT_EQ(take(leases, kBob, 10, kLeaseNs + 500), (EventSpan{10, 10}));
}

TEST(Leases, AClientThatComesBackBeforeItsRangesWereTakenClearsThem) {
    Leases leases(kLeaseNs);
    take(leases, kAlice, 10, 0);
    take(leases, kAlice, 10, 0);
    EXPECT_EQ(take(leases, kBob, 10, kLeaseNs + 1), (EventSpan{0, 10}));
    EXPECT_FALSE(leases.clear(OwnerId{3, 3}, {10, 10}, kLeaseNs + 2)) << "it was never this one's";
    EXPECT_TRUE(leases.clear(kAlice, {10, 10}, kLeaseNs + 2));
}

TEST(Leases, WhatIsGivenBackIsFreeAtOnce) {
    Leases leases(kLeaseNs);
    take(leases, kAlice, 10);
    take(leases, kBob, 10);
    leases.clear(kAlice, {0, 3}, 0);
    leases.give_back(kAlice, 0);
    EXPECT_EQ(take(leases, kBob, 100), (EventSpan{3, 7}));
    EXPECT_EQ(take(leases, kBob, 100), (EventSpan{20, 100}));
}

TEST(Leases, WhatIsNotAvailableIsPassedOverAndHoldsUpNoClient) {
    Leases leases(kLeaseNs);
    auto const jump = [](std::uint64_t from) -> EventSpan {
        if (from < 20) return {std::max<std::uint64_t>(from, 10), 20 - std::max<std::uint64_t>(from, 10)};
        return {std::max<std::uint64_t>(from, 1000), 50};
    };
    EXPECT_EQ(leases.take(kAlice, 100, 0, jump)->range, (EventSpan{10, 10}));
    EXPECT_EQ(leases.take(kAlice, 100, 0, jump)->range, (EventSpan{1000, 50}));
    leases.clear(kAlice, {1000, 50}, 0);
    EXPECT_EQ(leases.cleared_before(), 10u);
    leases.clear(kAlice, {10, 10}, 0);
    EXPECT_EQ(leases.cleared_before(), 1050u);
}

TEST(Leases, AClaimOwnsUnlessAnotherClientDoes) {
    Leases leases(kLeaseNs);
    EXPECT_TRUE(leases.claim(kAlice, {100, 10}, 0));
    EXPECT_TRUE(leases.claim(kAlice, {95, 10}, 0));
    EXPECT_FALSE(leases.claim(kBob, {104, 10}, 0));
    EXPECT_EQ(leases.outstanding(), 15u);
    EXPECT_TRUE(leases.claim(kBob, {104, 10}, kLeaseNs + 1)) << "Alice's leases are over";
    EXPECT_EQ(leases.expired(), 1u);
}

TEST(Leases, TheBeginningOfARunHasNoOwnerAndWhatMadeRoomIsLost) {
    Leases leases(kLeaseNs);
    leases.claim(kAlice, {50, 10}, 0); // from before anything was seen here
    leases.forget_before(100);
    EXPECT_EQ(leases.cleared_before(), 100u);
    EXPECT_EQ(leases.outstanding(), 0u);
    EXPECT_EQ(leases.standing(55, 60).kind, Leases::Standing::kept) << "it was never here";
    EXPECT_EQ(take(leases, kAlice, 10), (EventSpan{100, 10}));
    EXPECT_EQ(take(leases, kAlice, 10), (EventSpan{110, 10}));
    leases.clear(kAlice, {105, 5}, 0);
    leases.forget_before(115);
    EXPECT_EQ(leases.standing(100, 200).kind, Leases::Standing::lost);
    EXPECT_EQ(leases.standing(100, 200).until, 105u);
    EXPECT_EQ(leases.standing(105, 200).kind, Leases::Standing::cleared);
    EXPECT_EQ(leases.standing(105, 200).until, 110u);
    EXPECT_EQ(leases.standing(110, 200).kind, Leases::Standing::lost);
    EXPECT_EQ(leases.standing(115, 200).kind, Leases::Standing::kept);
    EXPECT_EQ(leases.outstanding(), 5u);
}

TEST(Leases, WhatNoClientAsksForHoldsUpAHandlerOnlyForAWhile) {
    Leases leases(kLeaseNs);
    leases.forget_before(90);
    leases.claim(kAlice, {100, 10}, 0);
    EXPECT_EQ(leases.skip_unclaimed(0, true), 0u);
    EXPECT_EQ(leases.skip_unclaimed(kLeaseNs, true), 0u) << "a client that only pauses comes back within the lease";
    leases.renew(kAlice, kLeaseNs);
    EXPECT_EQ(leases.skip_unclaimed(kLeaseNs + 1, false), 0u) << "there is room";
    EXPECT_EQ(leases.skip_unclaimed(kLeaseNs + 1, true), 10u);
    EXPECT_EQ(leases.cleared_before(), 100u);
    EXPECT_EQ(leases.skip_unclaimed(3 * kLeaseNs, true), 0u) << "these have an owner";
}

TEST(Leases, NothingIsSkippedWhileThereIsNoCollectorThatCouldAskForIt) {
    Leases leases(kLeaseNs);
    leases.forget_before(90);
    leases.renew(kAlice, 1);
    leases.claim(kAlice, {90, 20}, 1);
    leases.expire(2 * kLeaseNs, true); // Alice is dead, and her successor takes its time
    EXPECT_EQ(leases.skip_unclaimed(2 * kLeaseNs, true), 0u);
    EXPECT_EQ(leases.skip_unclaimed(9 * kLeaseNs, true), 0u);
    leases.renew(kBob, 9 * kLeaseNs);
    leases.note_far_ahead(kBob, 200, 9 * kLeaseNs);
    EXPECT_EQ(leases.skip_unclaimed(9 * kLeaseNs, true), 0u) << "he has only begun";
    leases.renew(kBob, 11 * kLeaseNs);
    EXPECT_EQ(leases.skip_unclaimed(11 * kLeaseNs, true), 0u) << "two leases, as they were hers";
    leases.renew(kBob, 12 * kLeaseNs);
    EXPECT_EQ(leases.skip_unclaimed(12 * kLeaseNs, true), 20u);
}

TEST(Leases, WhereRangesAreTakenNothingIsSkipped) {
    Leases leases(kLeaseNs);
    take(leases, kAlice, 10, 0);
    take(leases, kBob, 10, 0);
    leases.give_back(kAlice, 0);
    leases.skip_unclaimed(0, true);
    EXPECT_EQ(leases.skip_unclaimed(100 * kLeaseNs, true), 0u);
}

TEST(Leases, CollectorsCannotMakeItGrowWithoutBounds) {
    Leases leases(kLeaseNs);
    std::uint64_t done = 0;
    for (std::uint64_t i = 1; i < 2 * Leases::kMaxPieces; ++i) done += leases.claim(kAlice, {10 * i, 5}, 0);
    EXPECT_EQ(done, Leases::kMaxPieces);
    EXPECT_FALSE(leases.claim(kAlice, {1u << 30, 1}, 0));
    EXPECT_FALSE(leases.clear(kAlice, {22, 1}, 0)) << "that makes two more";
    EXPECT_FALSE(leases.clear(kAlice, {20, 2}, 0)) << "one more";
    EXPECT_TRUE(leases.clear(kAlice, {30, 5}, 0)) << "no more";
    EXPECT_TRUE(leases.clear(kAlice, {40, 5}, 0));
    leases.forget_before(20);
    EXPECT_TRUE(leases.clear(kAlice, {20, 2}, 0)) << "with what is cleared before it";
    EXPECT_TRUE(leases.clear(kAlice, {22, 2}, 0));
    EXPECT_EQ(leases.cleared_before(), 24u);
    leases.forget_before(1u << 30);
    EXPECT_TRUE(leases.claim(kAlice, {1u << 30, 1}, 0));
}

TEST(Leases, WhoVanishesLeavesRoomForTheClaimsOfOthers) {
    Leases leases(kLeaseNs);
    for (std::uint64_t i = 1; i <= Leases::kMaxPieces; ++i) leases.claim(kAlice, {2 * i, 1}, 0);
    EXPECT_FALSE(leases.claim(kBob, {1, 1}, kLeaseNs));
    EXPECT_TRUE(leases.claim(kBob, {1, 4}, kLeaseNs + 1));
    EXPECT_EQ(leases.outstanding(), 4u);
    EXPECT_EQ(take(leases, kBob, 1, kLeaseNs + 1), (EventSpan{0, 1}));
    EXPECT_EQ(take(leases, kBob, 9, kLeaseNs + 1), (EventSpan{5, 9})) << "without an owner again, not lost";
}

TEST(Leases, WhatNoClientOwnsNoClientClears) {
    Leases leases(kLeaseNs);
    EXPECT_FALSE(leases.clear(kAlice, {0, 10}, 0));
    take(leases, kAlice, 10);
    EXPECT_FALSE(leases.clear(kAlice, {0, 11}, 0));
    EXPECT_FALSE(leases.clear(kAlice, {1'000'000, 1}, 0));
    EXPECT_TRUE(leases.clear(kAlice, {0, 10}, 0));
    EXPECT_FALSE(leases.clear(kAlice, {5, 10}, 0));
    EXPECT_EQ(leases.cleared_before(), 10u);
    EXPECT_EQ(take(leases, kBob, 10), (EventSpan{10, 10}));
}

TEST(Leases, LeasesExpireWithoutAClientThatTakes) {
    Leases leases(kLeaseNs);
    take(leases, kAlice, 10, 0);
    leases.expire(kLeaseNs);
    EXPECT_EQ(leases.outstanding(), 10u);
    leases.expire(kLeaseNs + 1);
    EXPECT_EQ(leases.outstanding(), 0u);
}

TEST(Leases, WhoRenewsForEverLosesWhatHoldsUpOthersAfterTheLongestLease) {
    Leases leases;
    leases.set_lease_ns(kLeaseNs, 5 * kLeaseNs);
    take(leases, kAlice, 10, 0);
    for (std::uint64_t now = 1; now <= 5 * kLeaseNs; now += 100) {
        leases.renew(kAlice, now);
        leases.renew(kBob, now);
        leases.expire(now, false);
    }
    EXPECT_EQ(leases.outstanding(), 10u);
    leases.renew(kAlice, 5 * kLeaseNs + 1);
    leases.expire(5 * kLeaseNs + 1, false);
    EXPECT_EQ(leases.outstanding(), 0u);
    EXPECT_EQ(take(leases, kAlice, 10, 5 * kLeaseNs + 2), EventSpan{}) << "it would keep them again";
    EXPECT_EQ(take(leases, kBob, 5, 5 * kLeaseNs + 2), (EventSpan{0, 5}));
    EXPECT_TRUE(leases.clear(kAlice, {5, 5}, 5 * kLeaseNs + 3)) << "what no client has taken yet";
    EXPECT_EQ(take(leases, kAlice, 5, 5 * kLeaseNs + 4), (EventSpan{10, 5})) << "it goes on";
}

TEST(Leases, WhereTheIndexIsFullAndAnotherWaitsOneLeaseIsEnough) {
    for (bool const another : {false, true}) {
        Leases leases;
        leases.set_lease_ns(kLeaseNs, 50 * kLeaseNs);
        take(leases, kAlice, 10, 0);
        for (std::uint64_t now = 1; now <= 2 * kLeaseNs; now += 100) {
            leases.renew(kAlice, now);
            if (another) leases.renew(kBob, now);
            leases.expire(now, true);
        }
        EXPECT_EQ(leases.outstanding(), another ? 0u : 10u);
    }
}

} // namespace
} // namespace thalweg::readout
