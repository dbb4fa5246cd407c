#include "thalweg/source/caen/numbering.h"

#include <gtest/gtest.h>

namespace thalweg::source::caen {
namespace {

constexpr double kTickNs = 8;
constexpr std::uint64_t kSecondNs = 1'000'000'000, kSecond = kSecondNs / 8;

// A board whose events are read at once, and which is looked at ten times a second.
class Tags : public ::testing::Test {
  protected:
    Tags() { tags_.restart(start_ns_); }
    std::uint64_t see(std::uint64_t ticks) {
        auto const now_ns = start_ns_ + ticks * 8;
        auto const empty_ns = now_ns - (now_ns - start_ns_) % (kSecondNs / 10);
        return tags_.unwrap(ticks & 0x7fffffff, now_ns, empty_ns, kTickNs);
    }

    std::uint64_t const start_ns_ = 77 * kSecondNs;
    TimeTags tags_{31};
};

TEST_F(Tags, go_on_when_their_bits_begin_again) {
    for (std::uint64_t ticks = 0; ticks < 100 * kSecond; ticks += kSecond / 7) ASSERT_EQ(see(ticks), ticks);
}

TEST_F(Tags, count_the_ranges_of_a_long_silence) {
    for (std::uint64_t const quiet_s : {1, 16, 17, 18, 20, 34, 35, 100, 3'600}) {
        tags_.restart(start_ns_);
        EXPECT_EQ(see(5), 5U);
        EXPECT_EQ(see(5 + quiet_s * kSecond), 5 + quiet_s * kSecond) << quiet_s;
    }
}

TEST_F(Tags, count_the_ranges_before_the_first_event) { EXPECT_EQ(see(60 * kSecond), 60 * kSecond); }

TEST_F(Tags, are_not_moved_by_a_reader_that_comes_late) {
    EXPECT_EQ(see(kSecond), kSecond);
    // The reader was away for 40 s, and the events were on board.
    auto const now_ns = start_ns_ + 41 * kSecondNs;
    for (std::uint64_t ticks = 2 * kSecond; ticks < 41 * kSecond; ticks += kSecond)
        ASSERT_EQ(tags_.unwrap(ticks & 0x7fffffff, now_ns, start_ns_ + kSecondNs, kTickNs), ticks);
}

TEST_F(Tags, of_an_earlier_event_are_earlier_and_no_new_range) {
    EXPECT_EQ(see(10 * kSecond), 10 * kSecond);
    EXPECT_EQ(see(10 * kSecond - 5), 10 * kSecond - 5);
    EXPECT_EQ(see(10 * kSecond + 7), 10 * kSecond + 7);
    tags_.restart(start_ns_);
    EXPECT_EQ(tags_.unwrap(0x7fffffff, start_ns_, start_ns_, kTickNs), 0x7fffffffU); // nothing is before the start
}

TEST(TriggerIds, show_how_many_are_missing) {
    TriggerIds ids;
    EXPECT_EQ(ids.missing_before(5), 0U); // the first one that is seen
    EXPECT_EQ(ids.missing_before(6), 0U);
    EXPECT_EQ(ids.missing_before(10), 3U);
    EXPECT_EQ(ids.missing_before(9), 0U); // an earlier one
    EXPECT_EQ(ids.missing_before(11), 0U);
}

TEST(TriggerIds, begin_again_after_24_bits) {
    TriggerIds ids;
    EXPECT_EQ(ids.missing_before(0xfffffe), 0U);
    EXPECT_EQ(ids.missing_before(0xffffff), 0U);
    EXPECT_EQ(ids.missing_before(0), 0U);
    EXPECT_EQ(ids.missing_before(2), 1U);
    ids.restart();
    EXPECT_EQ(ids.missing_before(100), 0U);
}

} // namespace
} // namespace thalweg::source::caen
