#include "thalweg/base/checksum.h"

#include <gtest/gtest.h>
#include <string_view>
#include <vector>

namespace thalweg::base {
namespace {

std::span<std::byte const> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Checksum, Xxh3GivesThePublishedValues) {
    EXPECT_EQ(xxh3({}), 0x2d06800538d394c2u);
    EXPECT_EQ(xxh3(bytes_of("a")), 0xe6c632b61e964e1fu);
    EXPECT_EQ(xxh3(bytes_of("abc")), 0x78af5f94892f3950u);
}

TEST(Checksum, Xxh3SeesEveryBit) {
    std::vector<std::byte> bytes(600);
    auto const before = xxh3(bytes);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        auto const mask = static_cast<std::byte>(1u << bit % 8);
        bytes[bit / 8] ^= mask;
        ASSERT_NE(xxh3(bytes), before) << "bit " << bit;
        bytes[bit / 8] ^= mask;
    }
}

TEST(Checksum, Adler32GivesTheKnownValues) {
    EXPECT_EQ(adler32(1, {}), 1u);
    EXPECT_EQ(adler32(1, bytes_of("a")), 0x00620062u);
    EXPECT_EQ(adler32(1, bytes_of("Wikipedia")), 0x11e60398u);
}

TEST(Checksum, Adler32GoesOnWhereItStopped) {
    auto const all = bytes_of("the line of deepest and fastest flow");
    for (std::size_t cut = 0; cut <= all.size(); ++cut) {
        EXPECT_EQ(adler32(adler32(1, all.first(cut)), all.subspan(cut)), adler32(1, all));
    }
}

} // namespace
} // namespace thalweg::base
