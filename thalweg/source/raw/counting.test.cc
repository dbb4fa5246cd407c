#include "thalweg/source/raw/counting.h"

#include <gtest/gtest.h>
#include <initializer_list>

namespace thalweg::source::raw {
namespace {

struct Counted {
    std::uint64_t lost, out_of_order;
    bool operator==(Counted const&) const = default;
};

Counted count(unsigned bits, std::initializer_list<std::uint64_t> numbers) {
    SequenceCheck check(bits);
    for (auto const number : numbers) check.see(number);
    return {check.lost(), check.out_of_order()};
}

TEST(Sequence, GapsAreLosses) {
    EXPECT_EQ(count(32, {5, 6, 7}), (Counted{0, 0}));
    EXPECT_EQ(count(32, {5, 6, 10, 11, 13}), (Counted{4, 0}));
}

TEST(Sequence, BeginsAgainAtZeroBehindItsLargestValue) {
    EXPECT_EQ(count(8, {254, 255, 0, 1}), (Counted{0, 0}));
    EXPECT_EQ(count(8, {254, 1, 2}), (Counted{2, 0}));
    EXPECT_EQ(count(64, {~std::uint64_t{0}, 0, 1}), (Counted{0, 0}));
    EXPECT_EQ(count(16, {65'535, 0, 2}), (Counted{1, 0}));
}

TEST(Sequence, WhatComesLateIsOutOfOrderAndHidesNoLoss) {
    EXPECT_EQ(count(32, {10, 12, 11, 13}), (Counted{1, 1}));
    EXPECT_EQ(count(32, {10, 11, 11, 12}), (Counted{0, 1})); // twice
    EXPECT_EQ(count(32, {10, 12, 11, 14}), (Counted{2, 1}));
}

TEST(Sequence, ASenderThatBeganAgainIsFollowed) { EXPECT_EQ(count(32, {5000, 5001, 0, 1, 2, 4}), (Counted{1, 1})); }

TEST(Sequence, BehindABreakASmallerNumberIsABeginning) {
    SequenceCheck check(16);
    for (auto const number : {7, 8}) check.see(number);
    check.begin_anew();
    check.see(0), check.see(1);
    EXPECT_EQ(check.lost() + check.out_of_order(), 0u);
    check.begin_anew();
    check.see(12);
    EXPECT_EQ(check.lost(), 10u);
    check.forget();
    check.see(100), check.see(101);
    EXPECT_EQ(check.lost(), 10u);
}

TEST(WideClock, GoesOnWhereItBeginsAgainAtZero) {
    WideClock clock(8, 1);
    EXPECT_EQ(clock.at(250), 250u);
    EXPECT_EQ(clock.at(3), 259u);
    EXPECT_EQ(clock.at(100), 356u);
    EXPECT_EQ(clock.at(90), 346u); // rows need not be sorted
    EXPECT_EQ(clock.at(200), 456u);
    EXPECT_EQ(clock.at(60), 572u);
}

TEST(WideClock, DoesNotGoBelowZeroAndScales) {
    WideClock clock(8, 10);
    EXPECT_EQ(clock.at(5), 50u);
    EXPECT_EQ(clock.at(250), 2500u);
    WideClock whole(64, 1);
    EXPECT_EQ(whole.at(~std::uint64_t{0}), ~std::uint64_t{0});
    EXPECT_EQ(whole.at(7), 7u);
    EXPECT_EQ(whole.at(7), 7u);
    EXPECT_EQ(whole.at(3), 3u);
}

} // namespace
} // namespace thalweg::source::raw
