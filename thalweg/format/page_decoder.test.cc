#include "thalweg/format/page_decoder.h"

#include <gtest/gtest.h>

namespace thalweg::format {
namespace {

TEST(PageDecoderDeathTest, AnotherNumberOfBytesThanTheItemsHaveEndsTheProcess) {
    auto const file = storage::make_memory_storage("pages");
    std::vector<std::byte> const stored(80, std::byte{1});
    file->write(0, stored);
    model::Page const page{0, 10, 0, 0, 80, 80};
    PageDecoder decoder;
    std::vector<std::byte> out(80);
    decoder.decode(page, *file, {model::Scalar::uint64, 8}, "none", true, out);
    EXPECT_EQ(out, stored);
    std::vector<std::byte> fewer(72);
    EXPECT_DEATH(decoder.decode(page, *file, {model::Scalar::uint64, 8}, "none", true, fewer),
                 "a page is decoded to as many bytes as its items have");
}

} // namespace
} // namespace thalweg::format
