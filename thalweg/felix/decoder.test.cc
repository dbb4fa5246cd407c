// Tests blocks that are written by hand, for errors that a working card never makes. card.test.cc and the independent
// checker test whole streams.
#include "thalweg/felix/decoder.h"

#include <gtest/gtest.h>
#include <string>

namespace thalweg::felix {
namespace {

// Adds chunks from the front; the last one gets the rest.
class HandMade {
  public:
    explicit HandMade(BlockFormat format = {}, std::uint8_t sequence = 0) : format_(format) {
        bytes_.resize(format.block_bytes + kReadableBehind);
        auto const word = BlockHeader{7, sequence, format.magic}.word();
        std::memcpy(bytes_.data(), &word, sizeof word);
    }
    HandMade& chunk(ChunkType type, std::string const& payload, std::uint32_t flags = 0) {
        std::memcpy(bytes_.data() + end_, payload.data(), payload.size());
        end_ += (payload.size() + format_.trailer_bytes - 1) / format_.trailer_bytes * format_.trailer_bytes;
        return trailer(Trailer::make(type, static_cast<std::uint32_t>(payload.size()), flags));
    }
    HandMade& trailer(Trailer trailer) {
        auto const narrow = trailer.narrow();
        if (format_.trailer_bytes == 2) {
            std::memcpy(bytes_.data() + end_, &narrow, sizeof narrow);
        } else {
            std::memcpy(bytes_.data() + end_, &trailer.word, sizeof trailer.word);
        }
        end_ += format_.trailer_bytes;
        return *this;
    }
    // Pads the block to its end.
    std::byte const* pad() {
        auto const rest = format_.block_bytes - end_ - format_.trailer_bytes;
        return chunk(ChunkType::timeout, std::string(rest, '\0')).bytes_.data();
    }

  private:
    BlockFormat format_;
    std::vector<std::byte> bytes_;
    std::size_t end_ = kBlockHeaderBytes;
};

std::vector<std::string> texts(std::span<Packet const> packets) {
    std::vector<std::string> texts;
    for (auto const& packet : packets) {
        texts.emplace_back(reinterpret_cast<char const*>(packet.data), packet.size_bytes);
    }
    return texts;
}

using Texts = std::vector<std::string>;

TEST(Decoder, PacketsComeInTheirOrder) {
    StreamDecoder decoder(BlockFormat{});
    auto block = HandMade().chunk(ChunkType::both, "one").chunk(ChunkType::both, "").chunk(ChunkType::both, "three");
    EXPECT_EQ(texts(decoder.decode(block.pad())), (Texts{"one", "", "three"}));
    EXPECT_EQ(decoder.counters().packets.get(), 3u);
    EXPECT_EQ(decoder.counters().timeouts.get(), 1u);
}

TEST(Decoder, NullAndOutOfBandCarryNothingWhateverTheirLength) {
    StreamDecoder decoder(BlockFormat{});
    auto block = HandMade()
                     .chunk(ChunkType::both, "data")
                     .trailer(Trailer::make(ChunkType::null, 500))
                     .trailer(Trailer::make(ChunkType::out_of_band, 77));
    EXPECT_EQ(texts(decoder.decode(block.pad())), (Texts{"data"}));
    EXPECT_EQ(decoder.counters().out_of_band.get(), 1u);
}

TEST(Decoder, PiecesBecomePacketsAcrossBlocksAndPadding) {
    StreamDecoder decoder(BlockFormat{});
    auto first = HandMade({}, 3).chunk(ChunkType::both, "a").chunk(ChunkType::first, "b1");
    auto second = HandMade({}, 4).chunk(ChunkType::middle, "b2", Trailer::kCrc);
    auto third =
        HandMade({}, 5).chunk(ChunkType::last, "b3").chunk(ChunkType::first, "c1").chunk(ChunkType::last, "c2");
    EXPECT_EQ(texts(decoder.decode(first.pad())), (Texts{"a"}));
    EXPECT_TRUE(decoder.decode(second.pad()).empty());
    auto const packets = decoder.decode(third.pad());
    EXPECT_EQ(texts(packets), (Texts{"b1b2b3", "c1c2"}));
    EXPECT_EQ(packets[0].flags, Trailer::kCrc);
    EXPECT_EQ(packets[1].flags, 0u);
}

TEST(Decoder, ATruncatedTimeoutEndsTheOpenPacketOrIsOne) {
    StreamDecoder decoder(BlockFormat{});
    auto block = HandMade()
                     .chunk(ChunkType::first, "x")
                     .chunk(ChunkType::timeout, "y", Trailer::kTruncated)
                     .chunk(ChunkType::timeout, "z", Trailer::kTruncated);
    EXPECT_EQ(texts(decoder.decode(block.pad())), (Texts{"xy", "z"}));
    EXPECT_EQ(decoder.counters().truncated.get(), 2u);
}

TEST(Decoder, AGapDropsTheOpenPacketAndWhatWouldHaveEndedIt) {
    StreamDecoder decoder(BlockFormat{});
    auto first = HandMade({}, 30).chunk(ChunkType::first, "b1");
    auto second = HandMade({}, 1).chunk(ChunkType::last, "b3").chunk(ChunkType::both, "c");
    decoder.decode(first.pad());
    EXPECT_EQ(texts(decoder.decode(second.pad())), (Texts{"c"}));
    EXPECT_EQ(decoder.counters().sequence_gaps.get(), 1u);
    EXPECT_EQ(decoder.counters().lost_blocks.get(), 2u);
    EXPECT_EQ(decoder.counters().dropped_chunks.get(), 2u);
}

TEST(Decoder, AWholePacketBetweenPiecesMeansThatTheyAreStrangers) {
    StreamDecoder decoder(BlockFormat{});
    auto block = HandMade().chunk(ChunkType::first, "a").chunk(ChunkType::both, "b").chunk(ChunkType::last, "c");
    EXPECT_EQ(texts(decoder.decode(block.pad())), (Texts{"b"}));
    EXPECT_EQ(decoder.counters().dropped_chunks.get(), 2u);
}

TEST(Decoder, TrailersThatDoNotLeadToTheHeaderMakeABadBlock) {
    StreamDecoder decoder(BlockFormat{});
    auto first = HandMade({}, 0).chunk(ChunkType::first, "a");
    decoder.decode(first.pad());
    auto bad = HandMade({}, 1).trailer(Trailer::make(ChunkType::both, 900));
    EXPECT_TRUE(decoder.decode(bad.pad()).empty());
    EXPECT_EQ(decoder.counters().bad_blocks.get(), 1u);
    auto third = HandMade({}, 2).chunk(ChunkType::last, "a2").chunk(ChunkType::both, "c");
    EXPECT_EQ(texts(decoder.decode(third.pad())), (Texts{"c"}));
}

TEST(Decoder, NarrowTrailersKnowNoBusyFlag) {
    auto const format = parse_format("abcd");
    StreamDecoder decoder(format);
    auto block = HandMade(format).chunk(ChunkType::both, "odd", Trailer::kError).chunk(ChunkType::both, "even");
    auto const packets = decoder.decode(block.pad());
    EXPECT_EQ(texts(packets), (Texts{"odd", "even"}));
    EXPECT_EQ(packets[0].flags, Trailer::kError);
}

TEST(Decoder, APacketThatNeverEndsIsCut) {
    StreamDecoder decoder(BlockFormat{}, 1500);
    auto first = HandMade({}, 0).chunk(ChunkType::first, std::string(1000, 'a'));
    auto second = HandMade({}, 1).chunk(ChunkType::middle, std::string(1000, 'b'));
    auto third = HandMade({}, 2).chunk(ChunkType::last, "end");
    decoder.decode(first.pad());
    decoder.decode(second.pad());
    auto const packets = decoder.decode(third.pad());
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(packets[0].size_bytes, 1500u);
    EXPECT_EQ(packets[0].flags, Trailer::kTruncated);
}

} // namespace
} // namespace thalweg::felix
