#include "thalweg/readout/builder/event_ring.h"

#include <array>
#include <gtest/gtest.h>

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kFirst = (1ull << 32) + 100;

TEST(EventRing, AStretchBeginsAtItsFirstEventAndEndsWhereTheNextBegins) {
    EventRing ring(1024, 256);
    EXPECT_FALSE(ring.place_of(kFirst).known);
    EXPECT_EQ(ring.next_known(0), 0u);
    ring.begin_stretch(kFirst, 40);
    EXPECT_FALSE(ring.place_of(kFirst - 1).known);
    EXPECT_EQ(ring.place_of(kFirst).position, 40u);
    EXPECT_EQ(ring.place_of(kFirst + 7).position, 47u);
    ring.begin_stretch(kFirst + 1'000'000, 100);
    EXPECT_EQ(ring.place_of(kFirst + 7).run, 53u);
    EXPECT_FALSE(ring.place_of(kFirst + 60).known) << "there are 60 positions between the two";
    EXPECT_EQ(ring.place_of(kFirst + 1'000'003).position, 103u);
    EXPECT_EQ(ring.next_known(kFirst + 60), kFirst + 1'000'000);
    EXPECT_EQ(ring.next_known(kFirst + 59), kFirst + 59);
}

TEST(EventRing, KeepsFromAnEventOnWhatIsClosed) {
    EventRing ring(1024, 256);
    ring.begin_stretch(kFirst, 40);
    EXPECT_EQ(ring.kept_from(), 40u);
    ring.release(kFirst + 50);
    EXPECT_EQ(ring.kept_from(), 40u) << "nothing is closed";
    ring.publish(60, kFirst + 20);
    ring.release(kFirst + 10);
    EXPECT_EQ(ring.kept_from(), 50u);
    ring.release(kFirst + 5);
    EXPECT_EQ(ring.kept_from(), 50u) << "never backwards";
    ring.release(kFirst + 500);
    EXPECT_EQ(ring.kept_from(), 60u);
    EXPECT_EQ(ring.books().evicted, 0u);
    for (std::uint64_t position = 60; position < 80; ++position) ring.note_closed(position, true);
    ring.publish(80, kFirst + 40);
    ring.evict_before(70);
    EXPECT_EQ(ring.books().evicted, 10u);
}

TEST(EventRing, EvictedAreEventsAndNotWhatAJumpSkipped) {
    EventRing ring(1024, 256);
    ring.begin_stretch(kFirst, 0);
    ring.end_stretch(20);
    ring.begin_stretch(kFirst + 1'000'000, 500);
    for (std::uint64_t position = 0; position < 600; ++position) ring.note_closed(position, true);
    ring.publish(600, kFirst + 1'000'100);
    ring.evict_before(510);
    EXPECT_EQ(ring.books().evicted, 20u + 10u);
    ring.evict_before(510);
    EXPECT_EQ(ring.books().evicted, 30u);
}

TEST(EventRing, Invariant7EveryFragmentIsInOnePlaceOfTheBooks) {
    EventRing ring(1024, 256);
    ring.begin_stretch(kFirst, 0);
    for (std::uint64_t position = 0; position < 300; ++position) ring.note_closed(position, position % 10 != 9);
    ring.publish(200, kFirst + 200);
    EXPECT_EQ(ring.books().kept, 180u);
    ring.release(kFirst + 100, std::array{Forgotten{0, kFirst + 10, Forgotten::evicted},
                                          Forgotten{kFirst + 50, kFirst + 60, Forgotten::skipped}});
    auto books = ring.books(std::array{EventSpan{kFirst + 120, 10}, EventSpan{kFirst + 195, 705}});
    EXPECT_EQ(books.evicted, 9u);
    EXPECT_EQ(books.skipped, 9u);
    EXPECT_EQ(books.cleared, 72u + 9u + 4u) << "what is cleared ahead of others, too";
    EXPECT_EQ(books.kept, 90u - 13u);
    ring.release(kFirst + 250);
    ring.publish(300, kFirst + 300);
    ring.release(kFirst + 260);
    books = ring.books();
    EXPECT_EQ(books.skipped, 9u + 45u) << "closed after it was cleared: no client has it";
    EXPECT_EQ(books.cleared, 72u + 90u + 9u);
    EXPECT_EQ(books.kept, 36u);
}

TEST(EventRing, Invariant7EventsThatAJumpNumbersAgainAreSkipped) {
    EventRing ring(1024, 256);
    ring.begin_stretch(kFirst, 0);
    for (std::uint64_t position = 0; position < 100; ++position) ring.note_closed(position, true);
    ring.publish(100, kFirst + 100);
    ring.end_stretch(100);
    ring.begin_stretch(kFirst + 90, 500);
    EXPECT_EQ(ring.books().skipped, 10u);
    EXPECT_EQ(ring.books().kept, 90u);
}

TEST(EventRing, APinHoldsWhatIsBehindIt) {
    EventRing ring(64, 256);
    ring.begin_stretch(kFirst, 0);
    ring.publish(50, kFirst + 50);
    {
        EventRing::Pin const pin(ring, 5, 10);
        ring.release(kFirst + 40);
        EXPECT_EQ(ring.usable_before(), 10u);
    }
    EXPECT_EQ(ring.usable_before(), 40u);
}

TEST(EventRing, ForgetsOldStretchesOnceNothingOfThemIsKept) {
    EventRing ring(64, 256);
    for (std::uint64_t i = 0; i < 300; ++i) ring.begin_stretch(kFirst + 1000 * i, 10 * i);
    EXPECT_TRUE(ring.place_of(kFirst).known) << "it is kept";
    for (std::uint64_t i = 300; i < 1000; ++i) {
        ring.begin_stretch(kFirst + 1000 * i, 10 * i);
        ring.publish(10 * i, kFirst + 1000 * i);
        ring.evict_before(10 * i);
    }
    EXPECT_FALSE(ring.place_of(kFirst).known);
    EXPECT_EQ(ring.place_of(kFirst + 999'000).position, 9990u);
    EXPECT_LE(ring.stretches().size(), 256u);
}

} // namespace
} // namespace thalweg::readout
