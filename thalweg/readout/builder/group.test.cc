// Tests the contents of fragments. rules.test.cc tests when they are begun and closed.
#include "thalweg/readout/builder/group.h"

#include <gtest/gtest.h>

#include "thalweg/readout/builder/test_group.h"

namespace thalweg::readout {
namespace {

TEST(Fragments, CarryWhatWasWrongWithTheirPackets) {
    using felix::Trailer;
    TestGroup test(2);
    test.send(0, 0, 24, Trailer::kCrc);
    test.send(1, 0, 24, Trailer::kBusy | Trailer::kError);
    test.tick();
    EXPECT_EQ(test.header(kEpoch1).status, kCrcError | kBusy | kPacketError);
}

TEST(Fragments, LeaveOutWhatDoesNotFitAndSaySo) {
    TestGroup test(2);
    test.send(0, 0, 300);
    test.send(1, 0, 300);
    test.tick();
    FragmentView const fragment(test.fragment(kEpoch1));
    EXPECT_EQ(fragment.header().status, kOverflow);
    EXPECT_EQ(fragment.header().stream_map, 0b11u);
    EXPECT_EQ(fragment.payload(0).size(), 300u);
    EXPECT_TRUE(fragment.payload(1).empty());
}

TEST(Fragments, HoldEveryPayloadOfAnySize) {
    auto options = TestGroup::options_of(14);
    options.group.fragment_bytes = 16'384;
    options.index.checksum = true;
    TestGroup test(options);
    for (std::uint32_t event = 0; event < 300; ++event) {
        for (std::size_t stream = 0; stream < 14; ++stream) {
            auto const size = 8 + (event * 7 + static_cast<std::uint32_t>(stream) * 13) % 1100;
            test.put(stream, event, size);
            if (event % 10 == 9) test.send(stream, event, 16); // flushes; and a duplicate
        }
    }
    test.finish();
    for (std::uint32_t event = 0; event < 300; ++event) {
        auto const bytes = test.fragment(kEpoch1 + event);
        FragmentView const fragment(bytes);
        EXPECT_EQ(fragment.header().checksum, checksum_of(bytes));
        for (std::uint32_t stream = 0; stream < 14; ++stream) {
            EXPECT_EQ(fragment.payload(stream).size(), 8 + (event * 7 + stream * 13) % 1100);
            EXPECT_TRUE(felix::is_intact(fragment.payload(stream), 0, static_cast<std::uint16_t>(stream)));
        }
    }
}

TEST(Triggerless, ASliceHoldsAllPacketsOfItsTime) {
    auto options = TestGroup::options_of(2);
    options.group.mode = Mode::triggerless;
    options.trigger.slice_ticks = 100;
    TestGroup test(options);
    for (std::uint32_t tick = 0; tick < 1000; tick += 10) {
        test.send(0, tick);
        if (tick % 30 == 0) test.send(1, tick);
    }
    test.tick();
    auto const first = kEpoch1 / 100;
    EXPECT_EQ(test.closed(), first + 10) << "the last slice may go on";
    auto const bytes = test.fragment(first + 1);
    FragmentView const slice(bytes);
    EXPECT_EQ(slice.header().status, kTimeSlice);
    std::size_t packets = 0;
    for (auto body = slice.body(); !body.empty(); ++packets) {
        PackedPayload head;
        std::memcpy(&head, body.data(), sizeof head);
        EXPECT_TRUE(felix::is_intact(body.subspan(sizeof head, head.length_bytes), 0, head.stream));
        body = body.subspan(sizeof head + (head.length_bytes + 3u) / 4 * 4);
    }
    EXPECT_EQ(packets, 10u + 3u); // ticks 4 to 103: 2^32 is no multiple of 100
}

} // namespace
} // namespace thalweg::readout
