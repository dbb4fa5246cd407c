#include "thalweg/felix/block.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"

namespace thalweg::felix {
namespace {

TEST(BlockFormat, MagicSaysSizeAndTrailer) {
    EXPECT_EQ(format_of_magic(0xABCD), (BlockFormat{0xABCD, 1024, 2}));
    EXPECT_EQ(format_of_magic(0xABCE), (BlockFormat{0xABCE, 1024, 4}));
    EXPECT_EQ(format_of_magic(0xC0CE), (BlockFormat{0xC0CE, 1024, 4}));
    EXPECT_EQ(format_of_magic(0xC3CE), (BlockFormat{0xC3CE, 4096, 4}));
    EXPECT_EQ(format_of_magic(0xFFCE), (BlockFormat{0xFFCE, 65536, 4}));
    for (int const magic : {0x0000, 0xABCF, 0x80CE, 0x40CE, 0xC0CF, 0xFFFF}) {
        EXPECT_FALSE(format_of_magic(static_cast<std::uint16_t>(magic))) << magic;
    }
}

TEST(BlockFormat, IsWrittenByName) {
    EXPECT_EQ(parse_format("abcd"), *format_of_magic(0xABCD));
    EXPECT_EQ(parse_format("abce", 1024), *format_of_magic(0xABCE));
    for (std::uint32_t kilobytes = 1; kilobytes <= 64; ++kilobytes) {
        auto const format = parse_format("c0ce", kilobytes * 1024);
        EXPECT_EQ(format.block_bytes, kilobytes * 1024);
        EXPECT_EQ(format_of_magic(format.magic), format);
    }
    EXPECT_THROW(parse_format("abcd", 2048), base::UsageError);
    EXPECT_THROW(parse_format("c0ce", 1000), base::UsageError);
    EXPECT_THROW(parse_format("c0ce", 0), base::UsageError);
    EXPECT_THROW(parse_format("c0ce", 65 * 1024), base::UsageError);
    EXPECT_THROW(parse_format("beef"), base::UsageError);
}

TEST(BlockHeader, KeepsItsBits) {
    BlockHeader const header{2047, 31, 0xC3CE};
    EXPECT_EQ(header.word(), 0xC3CEFFFFu);
    auto const word = BlockHeader{5, 2, 0xABCD}.word();
    auto const parsed = BlockHeader::parse(reinterpret_cast<std::byte const*>(&word));
    EXPECT_EQ(parsed.elink, 5);
    EXPECT_EQ(parsed.sequence, 2);
    EXPECT_EQ(parsed.magic, 0xABCD);
}

// The expected numbers come from docs/formats/felix.md, not from the header.
TEST(Trailer, BitsOfBothWidths) {
    auto const trailer = Trailer::make(ChunkType::both, 24, Trailer::kCrc | Trailer::kTruncated);
    EXPECT_EQ(trailer.word, 0x74000018u);
    EXPECT_EQ(trailer.narrow(), 0x7418u);
    EXPECT_EQ(Trailer::from_narrow(0x7418).word, trailer.word);
    EXPECT_EQ(Trailer::make(ChunkType::timeout, 7, Trailer::kError).narrow(), 0xA807u);
    EXPECT_EQ(Trailer::make(ChunkType::last, 1, Trailer::kBusy).word, 0x42000001u);
    EXPECT_EQ(Trailer::make(ChunkType::last, 1, Trailer::kBusy).narrow() & 0x1FFF, 1u);
}

} // namespace
} // namespace thalweg::felix
