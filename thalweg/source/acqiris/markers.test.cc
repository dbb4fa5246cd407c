#include "thalweg/source/acqiris/markers.h"

#include <gtest/gtest.h>

namespace thalweg::source::acqiris {
namespace {

constexpr std::uint64_t kHour = 3'600;
constexpr std::uint64_t kRate = 10'000'000'000; // samples a second
constexpr std::uint64_t kStep = 256 * 500'000;  // 20 kHz

std::vector<std::uint32_t> marker(std::uint64_t index, std::uint64_t position, std::uint32_t tag = 1) {
    std::vector<std::uint32_t> words(kMarkerWords);
    words[0] = tag | static_cast<std::uint32_t>(index & 0xffffff) << 8;
    words[1] = static_cast<std::uint32_t>(position);
    words[2] = static_cast<std::uint32_t>(position >> 32);
    return words;
}

// What a check says of markers that come in batches.
class Markers : public ::testing::Test {
  protected:
    void add(std::vector<std::uint32_t> const& words) { words_.insert(words_.end(), words.begin(), words.end()); }
    void check() {
        check_.check(words_, checked_);
        words_.clear();
    }
    std::string goods() const {
        std::string text;
        for (auto const& each : checked_) text += each.is_good ? '+' : '-';
        return text;
    }

    MarkerCheck check_;
    std::vector<std::uint32_t> words_;
    std::vector<Checked> checked_;
};

TEST_F(Markers, hold_tag_index_and_position) {
    auto const words = marker(0x123456, 0xfedcba9876543210);
    auto const read = marker_at(words);
    EXPECT_EQ(read.tag, 1U);
    EXPECT_EQ(read.index, 0x123456U);
    EXPECT_EQ(read.position, 0xfedcba9876543210U);
}

TEST_F(Markers, the_index_begins_again_after_24_bits) {
    for (std::uint64_t i = 0xfffffd; i < 0x1000003; ++i) add(marker(i, (i + 1) * kStep));
    check();
    EXPECT_EQ(goods(), "++++++");
    EXPECT_EQ(check_.missing(), 0U);
}

TEST_F(Markers, the_position_begins_again_after_64_bits_and_time_goes_on) {
    std::uint64_t const first = 0 - 2 * kStep; // NOLINT: it wraps
    for (std::uint64_t i = 0; i < 5; ++i) add(marker(i, first + i * kStep + 17));
    check();
    ASSERT_EQ(goods(), "+++++");
    for (std::size_t i = 1; i < checked_.size(); ++i)
        EXPECT_EQ(static_cast<std::uint64_t>(checked_[i].position - checked_[i - 1].position), kStep);
    // 83 days are 2^56 samples; the picoseconds behind them have no jump either.
    auto const last = picoseconds(checked_.back().position, kRate);
    EXPECT_EQ(last - picoseconds(checked_.front().position, kRate), 4 * 50'000'000U);
}

TEST_F(Markers, a_wrong_tag_is_bad_and_the_next_one_is_not) {
    for (std::uint64_t i = 0; i < 6; ++i) add(marker(i, (i + 1) * kStep, i == 3 ? 0xef : 1));
    check();
    EXPECT_EQ(goods(), "+++-++");
    EXPECT_EQ(check_.bad(), 1U);
    EXPECT_EQ(check_.missing(), 0U);
}

TEST_F(Markers, a_wrong_index_is_bad_if_the_next_one_goes_on) {
    for (std::uint64_t i = 0; i < 6; ++i) add(marker(i == 3 ? 70'000 : i, (i + 1) * kStep));
    check();
    EXPECT_EQ(goods(), "+++-++");
    EXPECT_EQ(check_.missing(), 0U);
}

TEST_F(Markers, an_index_that_jumps_for_good_means_that_records_are_missing) {
    for (std::uint64_t i = 0; i < 6; ++i) add(marker(i < 3 ? i : i + 10, (i + 1) * kStep));
    check();
    EXPECT_EQ(goods(), "++++++");
    EXPECT_EQ(check_.missing(), 10U);
}

TEST_F(Markers, an_index_that_jumps_at_the_end_of_a_batch_is_judged_by_the_next_one) {
    for (std::uint64_t i = 0; i < 3; ++i) add(marker(i == 2 ? 70'000 : i, (i + 1) * kStep));
    check();
    EXPECT_EQ(check_.missing(), 0U);
    for (std::uint64_t i = 3; i < 6; ++i) add(marker(i, (i + 1) * kStep));
    check();
    EXPECT_EQ(check_.missing(), 0U);
    add(marker(8, 9 * kStep));
    check();
    add(marker(9, 10 * kStep));
    check();
    EXPECT_EQ(check_.missing(), 2U);
    EXPECT_EQ(goods(), "++++++++");
}

TEST_F(Markers, an_index_that_goes_back_is_bad) {
    add(marker(7, kStep));
    check();
    add(marker(5, 2 * kStep));
    check();
    EXPECT_EQ(goods(), "+-");
}

TEST_F(Markers, a_wrong_position_costs_one_record) {
    for (std::uint64_t i = 0; i < 6; ++i) add(marker(i, i == 3 ? 0xdeadbeef00000000 : (i + 1) * kStep));
    check();
    EXPECT_EQ(goods(), "+++-++");
}

TEST_F(Markers, a_wrong_position_at_the_end_of_a_batch_costs_few_records) {
    for (std::uint64_t i = 0; i < 3; ++i) add(marker(i, i == 2 ? 0x7eadbeef00000000 : (i + 1) * kStep));
    check();
    for (std::uint64_t i = 3; i < 9; ++i) add(marker(i, (i + 1) * kStep));
    check();
    EXPECT_EQ(goods(), "+++--++++");
    EXPECT_EQ(static_cast<std::uint64_t>(checked_.back().position), 9 * kStep);
}

TEST_F(Markers, a_start_begins_anew) {
    add(marker(100, 100 * kStep));
    check();
    check_.restart();
    add(marker(0, 1));
    check();
    EXPECT_EQ(goods(), "++");
    EXPECT_EQ(check_.missing(), 0U);
}

TEST(Picoseconds, do_not_wrap_after_20_hours) {
    for (std::uint64_t const hours : {1, 20, 21, 1000, 1990}) {
        auto const position = Uint128{hours} * kHour * kRate * 256 + 128;
        EXPECT_EQ(picoseconds(position, kRate), hours * kHour * 1'000'000'000'000 + 50) << hours;
    }
}

TEST(Picoseconds, are_exact_for_any_rate) {
    EXPECT_EQ(picoseconds(256, 3'000'000'000), 333U);
    EXPECT_EQ(picoseconds(Uint128{3'000'000'000} * 256, 3'000'000'000), 1'000'000'000'000U);
    EXPECT_EQ(picoseconds(0, kRate), 0U);
}

} // namespace
} // namespace thalweg::source::acqiris
