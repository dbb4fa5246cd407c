#include "thalweg/felix/block_writer.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>

#include "thalweg/base/units.h"

namespace thalweg::felix {
namespace {

using Bytes = std::vector<std::byte>;

struct Chunk {
    Trailer trailer;
    Bytes bytes;
};

// Reads from the end to the header, as the description of the format says. Fails if that does not work.
std::vector<Chunk> chunks_of(BlockFormat const& format, std::byte const* block) {
    std::vector<Chunk> chunks;
    auto end = static_cast<std::int64_t>(format.block_bytes);
    while (end > kBlockHeaderBytes) {
        end -= format.trailer_bytes;
        Trailer trailer;
        if (format.trailer_bytes == 2) {
            std::uint16_t narrow;
            std::memcpy(&narrow, block + end, sizeof narrow);
            trailer = Trailer::from_narrow(narrow);
        } else {
            std::memcpy(&trailer.word, block + end, sizeof trailer.word);
        }
        auto const length = trailer.type() == ChunkType::null ? 0 : trailer.length_field();
        end -= static_cast<std::int64_t>(base::round_up(length, format.trailer_bytes));
        EXPECT_GE(end, kBlockHeaderBytes);
        chunks.insert(chunks.begin(), {trailer, Bytes(block + end, block + end + length)});
    }
    EXPECT_EQ(end, kBlockHeaderBytes);
    return chunks;
}

struct Written {
    explicit Written(BlockFormat const& of, std::uint8_t first_sequence = 0)
        : format(of), writer(
                          of, 77, [this](auto block) { keep(block); }, first_sequence) {}
    Written(Written const&) = delete;

    void keep(std::span<std::byte const> block) {
        EXPECT_EQ(block.size(), format.block_bytes);
        blocks.insert(blocks.end(), block.begin(), block.end());
    }

    std::size_t count() const { return blocks.size() / format.block_bytes; }
    std::vector<Chunk> chunks(std::size_t index) const {
        return chunks_of(format, blocks.data() + index * format.block_bytes);
    }

    BlockFormat format;
    Bytes blocks;
    BlockWriter writer;
};

struct Whole {
    Bytes bytes;
    std::uint32_t flags;
    bool operator==(Whole const&) const = default;
};

std::vector<Whole> packets_of(Written const& written) {
    std::vector<Whole> packets;
    Bytes open;
    bool is_open = false;
    for (std::size_t index = 0; index < written.count(); ++index) {
        for (auto const& [trailer, bytes] : written.chunks(index)) {
            auto const type = trailer.type();
            bool const is_padding = type == ChunkType::null || (type == ChunkType::timeout && !trailer.truncated());
            if (is_padding) continue;
            bool const is_rest = type == ChunkType::middle || type == ChunkType::last;
            EXPECT_TRUE(type == ChunkType::timeout || is_rest == is_open);
            open.insert(open.end(), bytes.begin(), bytes.end());
            is_open = type == ChunkType::first || type == ChunkType::middle;
            if (is_open) continue;
            packets.push_back({open, trailer.flags()});
            open.clear();
        }
    }
    EXPECT_FALSE(is_open);
    return packets;
}

Bytes some_bytes(std::size_t size_bytes, std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    Bytes bytes(size_bytes);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

std::vector<BlockFormat> const kFormats{parse_format("abcd"), parse_format("abce"), parse_format("c0ce"),
                                        parse_format("c0ce", 4096), parse_format("c0ce", 65536)};

TEST(BlockWriter, NumbersItsBlocks) {
    for (auto const& format : kFormats) {
        Written written(format, 30);
        while (written.count() < 5) written.writer.write(some_bytes(100));
        for (std::size_t index = 0; index < 5; ++index) {
            auto const header = BlockHeader::parse(written.blocks.data() + index * format.block_bytes);
            EXPECT_EQ(header.elink, 77);
            EXPECT_EQ(header.sequence, (30 + index) % 32);
            EXPECT_EQ(header.magic, format.magic);
        }
    }
}

TEST(BlockWriter, SplitsThe37thPacketOf24Bytes) {
    Written written(parse_format("c0ce"));
    for (int packet = 0; packet < 40; ++packet) written.writer.write(some_bytes(24));
    written.writer.flush();
    ASSERT_EQ(written.count(), 2u);
    auto const first = written.chunks(0);
    ASSERT_EQ(first.size(), 37u);
    EXPECT_EQ(first.back().trailer.word, Trailer::make(ChunkType::first, 8).word);
    EXPECT_EQ(written.chunks(1).front().trailer.word, Trailer::make(ChunkType::last, 16).word);
}

TEST(BlockWriter, NullOnlyWhereOneTrailerIsLeft) {
    for (auto const& format : kFormats) {
        auto const room = format.block_bytes - kBlockHeaderBytes - format.trailer_bytes;
        auto const types = [&](std::uint32_t size_bytes) {
            Written written(format);
            written.writer.write(some_bytes(size_bytes));
            std::vector<ChunkType> found;
            for (std::size_t index = 0; index < written.count(); ++index) {
                for (auto const& chunk : written.chunks(index)) found.push_back(chunk.trailer.type());
            }
            return found;
        };
        EXPECT_EQ(types(room), std::vector{ChunkType::both});
        EXPECT_EQ(types(room - format.trailer_bytes), (std::vector{ChunkType::both, ChunkType::null}));
        EXPECT_EQ(types(room - 2 * format.trailer_bytes), std::vector<ChunkType>{});
        EXPECT_EQ(types(room + 1), std::vector{ChunkType::first});
    }
}

TEST(BlockWriter, FlushPadsAndLeavesAnOpenPacketAlone) {
    for (auto const& format : kFormats) {
        Written written(format);
        auto const bytes = some_bytes(300);
        std::span const all(bytes);
        written.writer.flush();
        EXPECT_EQ(written.count(), 0u);
        written.writer.write_part(all.first(101));
        written.writer.flush();
        written.writer.write_part(all.subspan(101, 50));
        written.writer.flush();
        written.writer.write(all.subspan(151), Trailer::kCrc);
        written.writer.flush();
        ASSERT_EQ(written.count(), 3u);
        auto const chunks = written.chunks(0);
        ASSERT_EQ(chunks.size(), 2u);
        EXPECT_EQ(chunks[1].trailer.type(), ChunkType::timeout);
        EXPECT_TRUE(std::ranges::all_of(chunks[1].bytes, [](std::byte byte) { return byte == std::byte{0}; }));
        EXPECT_EQ(packets_of(written), (std::vector<Whole>{{bytes, Trailer::kCrc}}));
    }
}

TEST(BlockWriter, TimedOutPacketsEndWithWhatCame) {
    for (auto const& format : kFormats) {
        Written written(format);
        auto const bytes = some_bytes(90);
        std::span const all(bytes);
        written.writer.write_timed_out(all);
        written.writer.write_part(all.first(20));
        written.writer.write_timed_out(all.subspan(20));
        written.writer.write(all);
        written.writer.flush();
        auto const cut = Trailer::kTruncated | Trailer::kError;
        EXPECT_EQ(packets_of(written), (std::vector<Whole>{{bytes, cut}, {bytes, cut}, {bytes, 0}}));
    }
}

TEST(BlockWriter, AnyPacketsComeBack) {
    std::mt19937_64 random(4);
    for (int round = 0; round < 200; ++round) {
        Written written(kFormats[random() % kFormats.size()], static_cast<std::uint8_t>(random() % 32));
        std::vector<Whole> expected;
        auto const largest = std::size_t{1} << random() % 14;
        for (auto packets = random() % 100; packets > 0; --packets) {
            auto const size_bytes = random() % 5 == 0 ? 0 : random() % largest;
            Whole const packet{some_bytes(size_bytes, random()), static_cast<std::uint32_t>(random() % 8 << 26)};
            auto const cut = packet.bytes.size() == 0 ? 0 : random() % packet.bytes.size();
            std::span const bytes(packet.bytes);
            // The narrow trailer has no busy bit; both trailers have the other flags.
            if (random() % 4 == 0) {
                written.writer.write_part(bytes.first(cut));
                if (random() % 2 == 0) written.writer.flush();
                written.writer.write(bytes.subspan(cut), packet.flags);
            } else {
                written.writer.write(bytes, packet.flags);
            }
            if (random() % 8 == 0) written.writer.flush();
            expected.push_back(packet);
        }
        written.writer.flush();
        EXPECT_TRUE(written.writer.is_empty());
        EXPECT_EQ(written.writer.blocks(), written.count());
        ASSERT_EQ(packets_of(written), expected) << "round " << round;
    }
}

} // namespace
} // namespace thalweg::felix
