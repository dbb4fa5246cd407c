// Tests invariant R4 from the server's side: whatever collectors do, every fragment is cleared, evicted, skipped or
// kept.
#include <gtest/gtest.h>
#include <random>

#include "thalweg/readout/builder/test_ring.h"
#include "thalweg/readout/server/index.h"
#include "thalweg/readout/server/testing_owners.h"

namespace thalweg::readout {
namespace {

std::uint64_t sum(EventRing::Books const& books) { return books.cleared + books.evicted + books.skipped + books.kept; }

TEST(Invariant7, WhatOneGroupEvictedIsEvictedInTheOthers) {
    TestRing one(kFirst), two(kFirst);
    Index index({&one.ring, &two.ring}, kLeaseNs);
    one.add(100), two.add(100);
    index.tick(0);
    one.ring.evict_before(40);
    index.tick(1);
    EXPECT_EQ(index.books()[0].evicted, 40u);
    EXPECT_EQ(index.books()[1].evicted, 40u);
    EXPECT_EQ(index.books()[1].cleared, 0u);
}

TEST(Invariant7, AnEventThatAGroupClosesAfterItWasClearedIsSkipped) {
    TestRing one(kFirst), two(kFirst);
    Index index({&one.ring, &two.ring}, kLeaseNs);
    one.add(100), two.add(50).die();
    auto const taking = index.take(kAlice, 100, 1, 0);
    ASSERT_TRUE(taking);
    EXPECT_EQ(taking->range.count, 100u);
    index.clear(kFirst, 100, kAlice, 1);
    two.add(50);
    index.tick(2);
    EXPECT_EQ(index.books()[0].cleared, 100u);
    EXPECT_EQ(index.books()[1].cleared, 50u);
    EXPECT_EQ(index.books()[1].skipped, 50u);
}

TEST(Invariant7, WhatNoClientAskedForIsSkippedAndNotCleared) {
    TestRing one(kFirst);
    Index index({&one.ring}, kLeaseNs);
    one.add(1024);
    index.tick(0);
    index.claim(kFirst + 100, 10, kAlice, 1);
    for (std::uint64_t now = 1; now < 200'000'000; now += 900) {
        index.leases().renew(kAlice, now);
        index.tick(now);
    }
    EXPECT_EQ(index.books()[0].skipped, 100u);
    EXPECT_EQ(index.books()[0].cleared, 0u);
    EXPECT_EQ(index.leases().standing(kFirst, kFirst + 1).kind, Leases::Standing::lost);
}

class Invariant7WithRandomSteps : public testing::TestWithParam<unsigned> {};

TEST_P(Invariant7WithRandomSteps, TheBooksBalanceAfterEveryOne) {
    std::mt19937 random(GetParam());
    auto const draw = [&](std::uint64_t below) { return random() % below; };
    TestRing rings[] = {TestRing(kFirst, 256), TestRing(kFirst, 256)};
    Index index({&rings[0].ring, &rings[1].ring}, kLeaseNs);
    std::uint64_t built[] = {0, 0}, now = 0;
    for (int step = 0; step < 3000; ++step) {
        now += draw(80);
        auto const which = draw(2);
        auto& ring = rings[which];
        auto const owner = draw(2) == 0 ? kAlice : kBob;
        auto const first = std::max(index.first_event(), kFirst) + draw(60);
        auto const room = ring.ring.usable_before() + ring.ring.slots() - ring.ring.watermark();
        switch (draw(8)) {
        case 0:
        case 1: {
            auto const count = std::min<std::uint64_t>(draw(20), room);
            ring.add(count, 8);
            built[which] += count;
            break;
        }
        case 2:
            ring.skip(std::min<std::uint64_t>(draw(5), room));
            break;
        case 3:
            index.take(owner, 1 + draw(30), 1, now);
            break;
        case 4:
            index.claim(first, 1 + draw(30), owner, now);
            break;
        case 5:
        case 6:
            index.clear(first, 1 + draw(40), owner, now);
            break;
        default:
            if (draw(4) == 0)
                ring.ring.evict_before(ring.ring.kept_from() + draw(ring.ring.watermark() - ring.ring.kept_from() + 1));
            index.tick(now);
        }
        auto const books = index.books();
        for (int i = 0; i < 2; ++i) ASSERT_EQ(sum(books[i]), built[i]) << step;
    }
    EXPECT_GT(index.books()[0].cleared, 100u);
    EXPECT_GT(index.books()[0].evicted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Invariant7WithRandomSteps, testing::Range(0u, 20u));

} // namespace
} // namespace thalweg::readout
