#include "thalweg/source/caen/raw_events.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace thalweg::source::caen {
namespace {

using Kind = RawEvent::Kind;

// Bits, the highest one first, as the documents draw words from left to right.
class Bits {
  public:
    Bits& put(unsigned count, std::uint64_t value) {
        for (unsigned i = count; i-- > 0;) bits_.push_back((value >> i & 1) != 0);
        return *this;
    }
    Bits& data(std::uint64_t id, std::uint64_t words, std::uint64_t tag, std::uint64_t mask, std::uint64_t flags = 0) {
        put(4, 1).put(3, 0).put(1, 0).put(24, id).put(32, words);
        return put(13, flags).put(3, 0).put(48, tag).put(64, mask);
    }
    // A quartet of samples: the first one stands on the right.
    Bits& samples(int first) {
        for (int i = 3; i >= 0; --i) put(16, static_cast<std::uint64_t>(first + i));
        return *this;
    }
    Bits& start() { return put(4, 3).put(4, 0).put(16, 0).put(8, 3).put(32, 4).put(64, 1).put(64, 2).put(64, 3); }
    Bits& stop(std::uint64_t real, std::uint64_t dead) {
        put(4, 3).put(4, 2).put(16, 0).put(8, 2).put(32, 3);
        return put(8, 0).put(8, 0xff).put(48, real).put(8, 1).put(24, 0xffffff).put(32, dead);
    }
    std::vector<std::byte> bytes() const {
        std::vector<std::byte> made(bits_.size() / 8);
        for (std::size_t i = 0; i < bits_.size(); ++i)
            if (bits_[i]) made[i / 8] |= std::byte{0x80} >> (i % 8);
        return made;
    }

  private:
    std::vector<bool> bits_;
};

std::vector<std::vector<std::uint16_t>> samples_of(RawEvent const& event, std::size_t channels) {
    std::vector<std::vector<std::uint16_t>> made(channels, std::vector<std::uint16_t>(event.samples));
    std::vector<std::byte*> places;
    places.reserve(channels);
    for (auto& each : made) places.push_back(reinterpret_cast<std::byte*>(each.data()));
    copy_samples(event, places);
    return made;
}

TEST(RawEvents, have_header_and_samples_by_channel) {
    auto const bytes = Bits()
                           .data(0xabcdef, 3 + 4, 0x123456789abc, 1U << 2 | std::uint64_t{1} << 63, 0x1a5a)
                           .samples(10)
                           .samples(200)
                           .samples(14)
                           .samples(204)
                           .bytes();
    RawEvents events(bytes);
    RawEvent event;
    ASSERT_TRUE(events.next(event));
    EXPECT_EQ(event.kind, Kind::data);
    EXPECT_EQ(event.trigger_id, 0xabcdefU);
    EXPECT_EQ(event.time_tag, 0x123456789abcU);
    EXPECT_EQ(event.flags, 0x1a5aU);
    EXPECT_EQ(event.channels, std::uint64_t{1} << 63 | 4);
    ASSERT_EQ(event.samples, 8U);
    std::vector<std::vector<std::uint16_t>> const expected = {{10, 11, 12, 13, 14, 15, 16, 17},
                                                              {200, 201, 202, 203, 204, 205, 206, 207}};
    EXPECT_EQ(samples_of(event, 2), expected);
    EXPECT_FALSE(events.next(event));
    EXPECT_EQ(events.left_over_bytes(), 0U);
}

TEST(RawEvents, tell_the_start_and_the_stop_of_a_run) {
    auto const bytes = Bits().start().data(1, 3, 5, 0).stop(0xfedcba987654, 0x89abcdef).bytes();
    RawEvents events(bytes);
    RawEvent event;
    ASSERT_TRUE(events.next(event));
    EXPECT_EQ(event.kind, Kind::start);
    ASSERT_TRUE(events.next(event));
    EXPECT_EQ(event.kind, Kind::data);
    EXPECT_EQ(event.samples, 0U);
    ASSERT_TRUE(events.next(event));
    EXPECT_EQ(event.kind, Kind::stop);
    EXPECT_EQ(event.real_time, 0xfedcba987654U);
    EXPECT_EQ(event.dead_time, 0x89abcdefU);
    EXPECT_FALSE(events.next(event));
}

TEST(RawEvents, that_are_cut_are_left_over) {
    auto const whole = Bits().data(1, 4, 5, 1).samples(0).data(2, 4, 6, 1).samples(4).bytes();
    for (std::size_t size = 32; size < whole.size(); ++size) {
        RawEvents events{std::span(whole).first(size)};
        RawEvent event;
        ASSERT_TRUE(events.next(event));
        EXPECT_EQ(event.trigger_id, 1U);
        ASSERT_FALSE(events.next(event)) << size;
        EXPECT_EQ(events.left_over_bytes(), size - 32);
    }
}

TEST(RawEvents, that_are_not_understood_are_unknown_and_the_next_one_is_found) {
    auto const bytes = Bits()
                           .put(4, 7) // a format that is not known
                           .put(28, 0)
                           .put(32, 1)
                           .data(1, 4, 5, 3) // one word for two channels
                           .samples(0)
                           .put(4, 1) // too short for its header
                           .put(28, 0)
                           .put(32, 2)
                           .put(64, 0)
                           .put(4, 3) // a stop without its times
                           .put(4, 2)
                           .put(24, 0)
                           .put(32, 1)
                           .data(9, 4, 5, 1)
                           .samples(0)
                           .bytes();
    RawEvents events(bytes);
    RawEvent event;
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(events.next(event));
        EXPECT_EQ(event.kind, Kind::unknown) << i;
    }
    ASSERT_TRUE(events.next(event));
    EXPECT_EQ(event.kind, Kind::data);
    EXPECT_EQ(event.trigger_id, 9U);
}

TEST(RawEvents, of_no_words_end_a_block) {
    auto const bytes = Bits().data(1, 0, 5, 0).bytes();
    RawEvents events(bytes);
    RawEvent event;
    EXPECT_FALSE(events.next(event));
    EXPECT_EQ(events.left_over_bytes(), bytes.size());
}

} // namespace
} // namespace thalweg::source::caen
