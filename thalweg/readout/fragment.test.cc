#include "thalweg/readout/fragment.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::readout {
namespace {

using Bytes = std::vector<std::byte>;
using Payload = std::optional<std::size_t>; // the length; empty: the stream did not come

void append(Bytes& bytes, void const* data, std::size_t size) {
    auto const* const begin = static_cast<std::byte const*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
}

void append_payload(Bytes& bytes, std::uint32_t stream, std::size_t length) {
    bytes.insert(bytes.end(), length, std::byte(stream + 1));
    bytes.resize(base::round_up(bytes.size(), kPayloadAlignment));
}

void put_header(Bytes& bytes, FragmentHeader header) {
    header.length_bytes = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(bytes.data(), &header, sizeof header);
}

// Payloads lie in the order `order`. Streams that it leaves out follow in their own order.
Bytes make_fragment(std::vector<Payload> const& payloads, std::vector<std::uint32_t> order = {}) {
    auto const count = static_cast<std::uint32_t>(payloads.size());
    FragmentHeader header{.header_bytes = static_cast<std::uint16_t>(header_bytes(count)),
                          .event = 1ull << 32 | 0x02'000005,
                          .run = 7,
                          .source_id = 0x11,
                          .enabled_map = count == 64 ? ~0ull : (1ull << count) - 1,
                          .stream_count = static_cast<std::uint16_t>(count)};
    for (std::uint32_t stream = 0; stream < count; ++stream)
        if (std::find(order.begin(), order.end(), stream) == order.end()) order.push_back(stream);
    Bytes bytes(header.header_bytes);
    for (auto const stream : order) {
        if (!payloads[stream]) continue;
        PayloadEntry const entry{static_cast<std::uint16_t>(bytes.size() / 4),
                                 static_cast<std::uint16_t>(*payloads[stream])};
        append_payload(bytes, stream, *payloads[stream]);
        std::memcpy(bytes.data() + sizeof header + stream * sizeof entry, &entry, sizeof entry);
        header.stream_map |= 1ull << stream;
    }
    if (header.stream_map != header.enabled_map) header.status |= kIncomplete;
    put_header(bytes, header);
    return bytes;
}

Bytes make_slice(std::vector<std::pair<std::uint16_t, std::size_t>> const& payloads) {
    FragmentHeader header{.header_bytes = 64, .status = kTimeSlice, .event = 99, .enabled_map = 0b111};
    Bytes bytes(sizeof header);
    for (auto const& [stream, length] : payloads) {
        PackedPayload const packed{stream, static_cast<std::uint16_t>(length)};
        append(bytes, &packed, sizeof packed);
        append_payload(bytes, stream, length);
        header.stream_map |= 1ull << stream;
    }
    put_header(bytes, header);
    return bytes;
}

template <class T> void set(Bytes& bytes, std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <class T> T get(Bytes const& bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::string refusal(Bytes const& bytes) {
    try {
        FragmentView const view(bytes);
    } catch (base::DataError const& error) {
        return error.what();
    }
    return "taken";
}

void expect_refused(Bytes const& bytes, std::string const& why) {
    auto const text = refusal(bytes);
    EXPECT_NE(text.find(why), std::string::npos) << text << "\n  does not say: " << why;
}

TEST(Fragment, ViewGivesThePayloadsOfEveryStream) {
    auto const bytes = make_fragment({8, {}, 13, 0}, {2, 0, 3});
    FragmentView const view(bytes);
    EXPECT_FALSE(view.is_complete());
    EXPECT_EQ(view.header().run, 7u);
    EXPECT_EQ(view.payload(0).size(), 8u);
    EXPECT_EQ(view.payload(0)[7], std::byte{1});
    EXPECT_TRUE(view.payload(1).empty());
    EXPECT_EQ(view.payload(2).data(), view.body().data());
    EXPECT_EQ(view.payload(2)[12], std::byte{3});
    EXPECT_EQ(view.payload(3).size(), 0u);
    EXPECT_TRUE(view.payload(4).empty());
    auto const payloads = view.payloads();
    ASSERT_EQ(payloads.size(), 3u); // an empty packet is a packet
    EXPECT_EQ(payloads[1].stream, 2u);
    EXPECT_EQ(payloads[1].bytes.size(), 13u);
    EXPECT_EQ(payloads[2].stream, 3u);
}

TEST(Fragment, FragmentsLieOneBehindTheOther) {
    auto bytes = make_fragment({24, 24});
    auto const second = make_fragment({12});
    auto const first_bytes = bytes.size();
    append(bytes, second.data(), second.size());
    FragmentView const view(bytes);
    EXPECT_EQ(view.bytes().size(), first_bytes);
    EXPECT_EQ(FragmentView(std::span(bytes).subspan(first_bytes)).payload(0).size(), 12u);
}

TEST(Fragment, TheLargestFragmentHolds) {
    std::vector<Payload> payloads(64, 4088);
    payloads[63] = kMaxFragmentBytes - header_bytes(64) - 63 * 4088;
    auto const bytes = make_fragment(payloads);
    EXPECT_EQ(bytes.size(), kMaxFragmentBytes);
    EXPECT_EQ(FragmentView(bytes).payload(63).back(), std::byte{64});
}

TEST(Fragment, SlicesOfTimeKeepTheOrderOfArrival) {
    auto const bytes = make_slice({{2, 5}, {0, 8}, {2, 0}, {2, 3}});
    FragmentView const view(bytes);
    EXPECT_TRUE(view.is_complete());
    auto const payloads = view.payloads();
    ASSERT_EQ(payloads.size(), 4u);
    EXPECT_EQ(payloads[0].bytes.size(), 5u);
    EXPECT_EQ(payloads[3].stream, 2u);
    EXPECT_EQ(payloads[3].bytes[2], std::byte{3});
    EXPECT_TRUE(view.payload(2).empty());
    EXPECT_TRUE(FragmentView(make_slice({})).payloads().empty());
}

TEST(Fragment, WhatAHookWroteIsNotLookedInto) {
    auto bytes = make_fragment({8, 8});
    set<std::uint32_t>(bytes, 12, kRewritten);
    set<std::uint32_t>(bytes, 64, 0xFFFFFFFF);
    FragmentView const view(bytes);
    EXPECT_EQ(view.body().size(), 16u);
    EXPECT_TRUE(view.payload(0).empty());
    EXPECT_TRUE(view.payloads().empty());
}

TEST(Fragment, ChecksumCoversEveryByte) {
    auto bytes = make_fragment({8, 5});
    auto const checksum = checksum_of(bytes);
    set(bytes, 60, checksum);
    EXPECT_EQ(checksum_of(bytes), checksum);
    EXPECT_NO_THROW(FragmentView{bytes});
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        auto damaged = bytes;
        damaged[i] ^= std::byte{0x10};
        EXPECT_NE(refusal(damaged), "taken") << "byte " << i;
    }
    bytes.back() ^= std::byte{1}; // padding counts
    expect_refused(bytes, "checksum");
}

TEST(Fragment, EveryLieIsNamed) {
    auto const good = make_fragment({8, {}, 13, 4});
    ASSERT_EQ(refusal(good), "taken");
    auto const lie = [&](std::function<void(Bytes&)> const& change, std::string const& why) {
        auto bytes = good;
        change(bytes);
        expect_refused(bytes, why);
    };
    lie([](Bytes& b) { b.resize(63); }, "63 bytes are too few");
    lie([](Bytes& b) { b.clear(); }, "0 bytes are too few");
    lie([](Bytes& b) { set<std::uint32_t>(b, 0, 0x11112222); }, "the marker is 0x11112222");
    lie([](Bytes& b) { set<std::uint16_t>(b, 4, 2); },
        "fragment of event 4328521733, source 0x11, is damaged (version 2");
    lie([](Bytes& b) { set<std::uint16_t>(b, 6, 64); }, "4 streams, and a header of 64 bytes");
    lie([](Bytes& b) { set<std::uint16_t>(b, 50, 65); }, "65 streams");
    lie([](Bytes& b) { set<std::uint16_t>(b, 50, 0xFFFF); }, "65535 streams");
    lie([](Bytes& b) { set<std::uint32_t>(b, 8, 76); }, "a length of 76 bytes");
    lie([](Bytes& b) { set<std::uint32_t>(b, 8, 107); }, "a length of 107 bytes");
    lie([](Bytes& b) { set<std::uint32_t>(b, 8, kMaxFragmentBytes + 4); }, "a length of 262148 bytes");
    lie([](Bytes& b) { set<std::uint32_t>(b, 8, 0xFFFFFFFC); }, "a length of 4294967292 bytes");
    lie([](Bytes& b) { b.resize(b.size() - 4); }, "104 of its 108 bytes are here");
    lie([](Bytes& b) { set<std::uint64_t>(b, 40, 0b11111); }, "are enabled, of 4");
    lie([](Bytes& b) { set<std::uint64_t>(b, 40, 0b0101); }, "0xd came, 0x5 are enabled");
    lie([](Bytes& b) { set<std::uint32_t>(b, 12, 0); }, "0x2 are missing");
    lie([](Bytes& b) { set<std::uint64_t>(b, 32, 0b1111); }, "stream 1 came, and its entry is 0 bytes at 0");
    lie([](Bytes& b) { set<std::uint64_t>(b, 32, 0b0101); }, "stream 3 did not come, and its entry is 4 bytes at 104");
    lie([](Bytes& b) { set<std::uint16_t>(b, 64, 0); }, "stream 0 came, and its entry is 8 bytes at 0");
    lie([](Bytes& b) { set<std::uint16_t>(b, 64, 1); }, "a payload begins at 4, and not at 80");
    lie([](Bytes& b) { set<std::uint16_t>(b, 64, 0xFFFF); }, "and not at 80");
    lie([](Bytes& b) { set<std::uint16_t>(b, 66, 13); }, "a payload begins at 88, and not at 96"); // they overlap
    lie([](Bytes& b) { set<std::uint16_t>(b, 66, 4); }, "a payload begins at 88, and not at 84");  // a gap
    lie([](Bytes& b) { set<std::uint16_t>(b, 78, 65535); }, "the fragment at 108");                // beyond the end
    lie([](Bytes& b) { set<std::uint32_t>(b, 8, 112), b.resize(112); }, "payloads end at 108, the fragment at 112");
}

TEST(Fragment, WhatDidNotFitIsMarked) {
    auto bytes = make_fragment({8, {}, 13});
    set<std::uint64_t>(bytes, 32, 0b111);
    set<std::uint32_t>(bytes, 12, kOverflow);
    FragmentView const view(bytes);
    EXPECT_TRUE(view.is_complete());
    EXPECT_TRUE(view.payload(1).empty());
    EXPECT_EQ(view.payloads().size(), 2u);
}

TEST(Fragment, EveryLieOfASliceIsNamed) {
    auto const good = make_slice({{2, 5}, {0, 8}});
    auto const lie = [&](std::size_t offset, std::uint16_t value, std::string const& why) {
        auto bytes = good;
        set(bytes, offset, value);
        expect_refused(bytes, why);
    };
    lie(50, 1, "it says 1 streams");
    lie(64, 1, "5 bytes of stream 1");   // it did not come
    lie(64, 64, "5 bytes of stream 64"); // there is none
    lie(66, 65535, "65535 bytes of stream 2");
    lie(78, 9, "9 bytes of stream 0"); // beyond the end
    lie(6, 68, "a header of 68 bytes");
}

// After a damaged byte the fragment is refused, or everything that the view returns lies within the fragment.
TEST(Fragment, DamageNeverLeadsOutOfTheFragment) {
    std::mt19937 random(42);
    for (int round = 0; round < 20'000; ++round) {
        auto bytes = round % 4 == 0 ? make_slice({{0, random() % 40}, {2, random() % 40}})
                                    : make_fragment({random() % 40, {}, random() % 40, random() % 40, 24}, {3, 1});
        for (auto changes = 1 + random() % 3; changes > 0; --changes)
            bytes[random() % bytes.size()] = std::byte(random() % 4 == 0 ? random() % 256 : random() % 8);
        try {
            FragmentView const view(bytes);
            auto const* const end = view.bytes().data() + view.bytes().size();
            ASSERT_LE(view.bytes().size(), bytes.size());
            for (auto const& payload : view.payloads())
                ASSERT_TRUE(payload.bytes.data() >= view.body().data() &&
                            payload.bytes.data() + payload.bytes.size() <= end);
        } catch (base::DataError const&) {
        }
    }
}

} // namespace
} // namespace thalweg::readout
