#include "thalweg/readout/server/index.h"

#include <gtest/gtest.h>
#include <string>

#include "thalweg/readout/builder/test_ring.h"
#include "thalweg/readout/server/testing_owners.h"

namespace thalweg::readout {
namespace {

struct Answer {
    std::uint64_t next = 0;
    std::vector<EventRecord> records;
    std::vector<FragmentHeader> fragments;
};

Answer parse(std::span<std::byte const> bytes, std::uint64_t next) {
    Answer answer{next};
    while (!bytes.empty()) {
        EventRecord record;
        std::memcpy(&record, bytes.data(), sizeof record);
        answer.records.push_back(record);
        auto rest = bytes.subspan(sizeof record, record.bytes);
        for (int i = 0; i < record.fragments; ++i) {
            FragmentHeader header;
            std::memcpy(&header, rest.data(), sizeof header);
            for (auto const byte : rest.subspan(sizeof header, header.length_bytes - sizeof header))
                EXPECT_EQ(std::to_integer<int>(byte), TestRing::byte_of(header.event)) << header.event;
            answer.fragments.push_back(header);
            rest = rest.subspan(header.length_bytes);
        }
        EXPECT_TRUE(rest.empty());
        bytes = bytes.subspan(sizeof record + record.bytes);
    }
    return answer;
}

// Reads in both ways, which must agree.
Answer read(Index& index, std::uint64_t first, Index::Limits const& limits) {
    ByteBuffer flat;
    auto const next = index.read(first, limits, 3, flat);
    Index::Pieces scattered;
    index.gather(first, limits, 4, scattered, nullptr, [&](std::uint64_t same_next) {
        EXPECT_EQ(next, same_next);
        EXPECT_EQ(flat.size(), scattered.bytes);
        std::size_t at = 0;
        for (auto const& piece : scattered.pieces) {
            if (piece.iov_len == 0) continue;
            EXPECT_EQ(0, std::memcmp(piece.iov_base, flat.data() + at, piece.iov_len));
            at += piece.iov_len;
        }
    });
    return parse(flat.bytes(), next);
}

std::string states(Answer const& answer) {
    std::string text; // complete, incomplete, absent, Cleared, evicted, not yet
    for (auto const& record : answer.records) text += "ciaCen"[static_cast<int>(record.state)];
    return text;
}

TEST(Index, GivesAllFragmentsOfEveryEventOfARange) {
    TestRing a(kFirst, 256, 512, 1), b(kFirst, 256, 512, 2);
    a.add(50), b.add(50, 10);
    Index index({&a.ring, &b.ring});
    EXPECT_EQ(index.closed_event(), kFirst + 50);
    EXPECT_EQ(index.first_event(), kFirst);
    auto const answer = read(index, kFirst + 10, {.count = 20});
    EXPECT_EQ(answer.next, kFirst + 30);
    EXPECT_EQ(states(answer), std::string(20, 'c'));
    ASSERT_EQ(answer.fragments.size(), 40u);
    EXPECT_EQ(answer.records[3].event, kFirst + 13);
    EXPECT_EQ(answer.records[3].bytes, 64u + 336 + 64 + 10);
    EXPECT_EQ(answer.fragments[6].source_id, 1u);
    EXPECT_EQ(answer.fragments[7].source_id, 2u);
    EXPECT_EQ(answer.fragments[7].event, kFirst + 13);
}

TEST(Index, Rule4AnAnswerHoldsWholeEventsUpToMaxBytesAndOneAtLeast) {
    TestRing a(kFirst);
    a.add(20, 84); // 16 + 64 + 84 = 164 bytes
    Index index({&a.ring});
    EXPECT_EQ(read(index, kFirst, {.count = 20, .max_bytes = 1}).next, kFirst + 1);
    EXPECT_EQ(read(index, kFirst, {.count = 20, .max_bytes = 2 * 164}).next, kFirst + 2);
    EXPECT_EQ(read(index, kFirst, {.count = 20, .max_bytes = 3 * 164 - 1}).next, kFirst + 2);
    EXPECT_EQ(read(index, kFirst, {.count = 20}).next, kFirst + 20);
    EXPECT_EQ(read(index, kFirst - 10, {.count = 10, .max_bytes = 40}).next, kFirst - 8) << "records count, too";
}

TEST(Index, Rule4EachEventSaysWhatBecameOfIt) {
    TestRing a(kFirst, 64), b(kFirst, 64);
    a.add(10), b.add(10);                 // complete
    a.add(1, 336, kIncomplete), b.add(1); // incomplete in one group
    a.add(1), b.skip(1);                  // of one group only
    a.skip(2), b.skip(2);                 // absent
    a.add(2), b.add(1);                   // the last one is open in b
    Index index({&a.ring, &b.ring});
    EXPECT_EQ(states(read(index, kFirst, {.count = 20})), "cccccccccciiaac");
    EXPECT_EQ(states(read(index, kFirst, {.count = 17, .with_open = true})), "cccccccccciiaacnn");
    EXPECT_EQ(states(read(index, kFirst, {.count = 16, .with_open = true, .open_as = EventState::absent})),
              "cccccccccciiaaca");
    ASSERT_TRUE(index.take(kAlice, 5, 1, 0));
    EXPECT_FALSE(index.clear(kFirst + 1, 1, kBob, 0));
    EXPECT_TRUE(index.clear(kFirst + 1, 2, kAlice, 0));
    EXPECT_EQ(states(read(index, kFirst, {.count = 5})), "cCCcc");
    a.ring.evict_before(2), a.ring.evict_before(5);
    EXPECT_EQ(states(read(index, kFirst, {.count = 7})), "eCCeecc");
    index.tick(0);
    EXPECT_EQ(states(read(index, kFirst, {.count = 7})), "eCCeecc");
    EXPECT_EQ(index.first_event(), kFirst + 5);
}

TEST(Index, TheEndsOfTime) {
    TestRing a(kFirst);
    a.add(10);
    Index index({&a.ring});
    EXPECT_EQ(states(read(index, 0, {.count = 3})), "aaa");
    EXPECT_EQ(states(read(index, kFirst - 2, {.count = 4})), "aacc");
    auto const last = ~std::uint64_t{0};
    EXPECT_EQ(read(index, last - 3, {.count = 3}).records.size(), 0u);
    EXPECT_EQ(states(read(index, last - 3, {.count = 3, .with_open = true})), "nnn");
    EXPECT_EQ(states(read(index, last, {.count = 1, .with_open = true})), "") << "that is no event";
    Index nothing({});
    EXPECT_EQ(nothing.closed_event(), 0u);
    EXPECT_EQ(states(read(nothing, 5, {.count = 1, .with_open = true})), "n");
}

TEST(Index, EventsOfAJumpAreAbsentAndHoldUpNoClient) {
    TestRing a(kFirst, 64), b(kFirst, 64);
    a.add(5), b.add(6);
    auto const ecr = kFirst + (1 << 24);
    a.jump(ecr), b.jump(ecr + 1);
    a.add(5), b.add(4);
    Index index({&a.ring, &b.ring});
    EXPECT_EQ(states(read(index, kFirst + 3, {.count = 6})), "cciaaa");
    EXPECT_EQ(states(read(index, ecr - 2, {.count = 5})), "aaicc");
    EXPECT_EQ(index.take(kAlice, 100, 1, 0)->range, (EventSpan{kFirst, 6}));
    EXPECT_EQ(index.take(kAlice, 100, 1, 0)->range, (EventSpan{ecr, 5}));
    EXPECT_TRUE(index.clear(ecr, 5, kAlice, 0));
    EXPECT_TRUE(index.clear(kFirst, 6, kAlice, 0));
    EXPECT_EQ(a.ring.kept_from(), 10u);
    EXPECT_EQ(states(read(index, kFirst + 3, {.count = 6})), "CCCaaa");
    EXPECT_FALSE(index.has_more());
}

TEST(Index, RangesAreOfClosedEventsWithinOneEcr) {
    auto const near_end = (1ull << 32) + (1 << 24) - 3;
    TestRing a(near_end, 64);
    a.add(10);
    Index index({&a.ring});
    EXPECT_EQ(index.take(kAlice, 100, 100, 0)->range, (EventSpan{near_end, 3})) << "it will never be more";
    EXPECT_FALSE(index.take(kAlice, 100, 8, 0)) << "it may still become more";
    EXPECT_TRUE(index.has_more());
    EXPECT_EQ(index.take(kAlice, 100, 7, 0)->range, (EventSpan{near_end + 3, 7}));
    EXPECT_FALSE(index.has_more());
}

TEST(Index, AGroupWithoutLiveStreamsHoldsUpNoClient) {
    TestRing a(kFirst, 64), b(kFirst, 64);
    a.add(10), b.add(4), b.die();
    Index index({&a.ring, &b.ring});
    EXPECT_EQ(index.closed_event(), kFirst + 10);
    EXPECT_EQ(states(read(index, kFirst, {.count = 10})), "cccciiiiii") << "what it lacks is missing";
    EXPECT_EQ(read(index, kFirst, {.count = 10}).fragments.size(), 14u);
    a.die();
    EXPECT_EQ(index.closed_event(), kFirst + 10);
}

TEST(Index, WhatOnlySomeGroupsHaveSeenIsServedWhenTheRunHasEnded) {
    TestRing a(kFirst, 64), b(kFirst, 64);
    a.add(10), b.add(4);
    Index index({&a.ring, &b.ring});
    EXPECT_EQ(index.take(kAlice, 100, 1, 0)->range, (EventSpan{kFirst, 4}));
    EXPECT_FALSE(index.has_more());
    index.end_run();
    EXPECT_TRUE(index.has_more());
    EXPECT_EQ(index.take(kAlice, 100, 1, 0)->range, (EventSpan{kFirst + 4, 6}));
    EXPECT_EQ(states(read(index, kFirst, {.count = 10})), "cccciiiiii");
}

TEST(Index, Rule5NothingIsForgottenBeforeAllGroupsHaveBegun) {
    EventRing late(64, 512), early(64, 512);
    auto const begin = [](EventRing& ring, std::uint64_t event, std::uint64_t count) {
        constexpr std::uint64_t kPosition = 100; // of no meaning, and not 0
        ring.begin_stretch(event, kPosition);
        for (auto position = kPosition; position < kPosition + count; ++position) ring.slot(position)->event = 0;
        ring.publish(kPosition + count, event + count);
    };
    Index index({&late, &early});
    begin(late, kFirst + 5, 10);
    EXPECT_EQ(index.first_event(), 0u);
    index.tick(0);
    begin(early, kFirst, 15);
    EXPECT_EQ(index.first_event(), kFirst);
    EXPECT_EQ(index.take(kAlice, 100, 1, 0)->range, (EventSpan{kFirst, 15}));
    EXPECT_TRUE(index.clear(kFirst, 7, kAlice, 0));
    EXPECT_EQ(index.first_event(), kFirst + 7);
}

TEST(Index, ClearingFreesSlotsOnceEverythingBeforeIsCleared) {
    TestRing a(kFirst, 64);
    a.add(64);
    Index index({&a.ring});
    EXPECT_FALSE(a.has_room());
    index.take(kAlice, 10, 1, 0), index.take(kBob, 10, 1, 0);
    index.clear(kFirst + 10, 10, kBob, 0);
    EXPECT_EQ(a.ring.kept_from(), 0u);
    index.clear(kFirst, 10, kAlice, 0);
    EXPECT_EQ(a.ring.kept_from(), 20u);
    EXPECT_TRUE(a.has_room());
}

TEST(Index, AHandlerThatBeganEarlierDropsWhatNoClientWillAskFor) {
    TestRing a(kFirst, 64);
    a.add(60);
    Index index({&a.ring});
    index.tick(0);
    index.leases().claim(kAlice, {kFirst + 50, 10}, 0);
    EXPECT_EQ(index.tick(1), 0u);
    EXPECT_EQ(index.tick(9'000'000'000), 0u) << "a collector that paused may still ask for them";
    index.leases().renew(kAlice, 9'000'000'000);
    EXPECT_EQ(index.tick(11'000'000'000), 50u);
    EXPECT_EQ(a.ring.kept_from(), 50u);
}

TEST(Index, WhatNoClientAsksForStaysWhileThereIsRoom) {
    constexpr std::uint64_t kSecondNs = 1'000'000'000;
    TestRing a(kFirst, 64);
    a.add(20);
    Index index({&a.ring});
    index.tick(0);
    for (std::uint64_t i = 1; i < 40; ++i) { // one more event a second, while another part of it waits for its owner
        index.claim(kFirst + 19, 1, kAlice, i * kSecondNs);
        EXPECT_EQ(index.tick(i * kSecondNs), 0u) << i;
        a.add(1);
    }
    index.tick(40 * kSecondNs);
    EXPECT_EQ(index.tick(40 * kSecondNs + 200'000'000), 19u) << "now it stands still";
}

// The handler began long before the others, its index is full, and clients ask for events beyond all that it may
// promise.
TEST(Index, AHandlerThatLagsFarBehindWhatIsAskedForCatchesUp) {
    constexpr std::uint64_t kSecondNs = 1'000'000'000, kReach = 100, kWanted = kFirst + 10'000;
    TestRing a(kFirst, 64);
    Index index({&a.ring});
    bool owned = false;
    for (std::uint64_t second = 1; second < 30 && !owned; ++second) {
        for (std::uint64_t turn = 0; turn < 1000; ++turn) { // the card has no mercy
            while (a.has_room() && a.next_event() < kWanted + 10) a.add(1);
            index.tick(second * kSecondNs + turn * 1'000'000);
        }
        owned = index.claim(kWanted, 10, kAlice, second * kSecondNs, kReach);
        if (second < 10) {
            EXPECT_EQ(index.leases().cleared_before(), kFirst) << "a client that only pauses comes back";
        }
    }
    EXPECT_TRUE(owned);
    EXPECT_EQ(index.closed_event(), kWanted + 10);
    EXPECT_EQ(index.leases().cleared_before(), kWanted);
    EXPECT_TRUE(index.clear(kWanted, 10, kAlice, 30 * kSecondNs));
}

TEST(Index, NoClientOwnsOrClearsWhatIsFarAhead) {
    TestRing a(kFirst, 64);
    a.add(10);
    Index index({&a.ring});
    EXPECT_FALSE(index.claim(kFirst + 111, 5, kAlice, 0, 100));
    EXPECT_FALSE(index.clear(kFirst + 111, 5, kAlice, 0));
    EXPECT_TRUE(index.claim(kFirst + 110, 5, kAlice, 0, 100));
    EXPECT_TRUE(index.clear(kFirst + 110, 5, kAlice, 0));
    EXPECT_FALSE(index.clear(kFirst, 10, kAlice, 0)) << "no client owns them";
    EXPECT_EQ(index.take(kBob, 10, 1, 0)->range, (EventSpan{kFirst, 10}));
}

TEST(Index, AReaderOfOldEventsKeepsNoSlotsBusy) {
    TestRing a(kFirst, 64);
    a.add(64);
    Index index({&a.ring});
    index.take(kAlice, 64, 1, 0);
    index.clear(kFirst, 40, kAlice, 0);
    Index::Pieces pieces;
    index.gather(kFirst, {.count = 64}, 0, pieces, nullptr, [&](std::uint64_t) {
        EXPECT_EQ(a.ring.usable_before(), 40u);
        index.clear(kFirst + 40, 24, kAlice, 0);
        EXPECT_EQ(a.ring.usable_before(), 40u) << "a client reads them";
    });
    EXPECT_EQ(a.ring.usable_before(), 64u);
}

} // namespace
} // namespace thalweg::readout
