#include "thalweg/codec/codec.h"
#include "thalweg/base/error.h"
#include "thalweg/codec/big_endian.h"
#include "thalweg/codec/testing.h"

#include <gtest/gtest.h>
#include <lz4.h>
#include <random>
#include <vector>

namespace thalweg::codec {
namespace {

using testing::Bytes, testing::decoded, testing::encoded;

char const* const kAllSpecs[] = {
    "none",        "deflate",           "lz4",          "zstd",           "shuffle",           "bitshuffle",
    "shuffle+lz4", "shuffle+deflate-6", "shuffle+zstd", "bitshuffle+lz4", "bitshuffle+zstd-1", "bitshuffle+deflate"};

// Samples around a baseline, `element_bytes` wide: half of their bits never change.
Bytes samples(std::size_t bytes, std::size_t element_bytes, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(60, 2);
    Bytes page(bytes);
    for (std::size_t i = 0; i < bytes; i += element_bytes) page[i] = std::byte(static_cast<int>(noise(random)));
    return page;
}

Bytes noise(std::size_t bytes) {
    std::mt19937 random(1);
    Bytes page(bytes);
    for (std::byte& one : page) one = std::byte(random());
    return page;
}

class CodecTest : public ::testing::TestWithParam<char const*> {};

TEST_P(CodecTest, GivesBackEveryPage) {
    for (std::size_t element_bytes : {1, 2, 3, 4, 8, 16}) {
        auto const codec = make_codec(Spec::parse(GetParam()), element_bytes);
        for (std::size_t elements : {1, 5, 7, 8, 9, 100, 1023, 4096, 8197, 70'001}) {
            Bytes const raw = samples(elements * element_bytes, element_bytes, static_cast<unsigned>(elements));
            Bytes const stored = encoded(*codec, raw);
            if (stored.empty()) continue;
            EXPECT_EQ(decoded(*codec, stored, raw.size()), raw) << element_bytes << " " << elements;
        }
    }
}

TEST_P(CodecTest, GivesBackPagesThatEndWithinAnElement) {
    auto const codec = make_codec(Spec::parse(GetParam()), 8);
    Bytes const raw = samples(8 * 1000 + 5, 8, 9);
    Bytes const stored = encoded(*codec, raw);
    if (!stored.empty()) {
        EXPECT_EQ(decoded(*codec, stored, raw.size()), raw);
    }
}

TEST_P(CodecTest, ShrinksSamplesAndLeavesNoiseRaw) {
    Spec const spec = Spec::parse(GetParam());
    if (spec.compression == Compression::none) return; // a prefilter alone keeps the size
    auto const codec = make_codec(spec, 2);
    Bytes const raw = samples(100'000, 2, 4);
    Bytes const stored = encoded(*codec, raw);
    EXPECT_GT(stored.size(), 0u);
    EXPECT_LT(stored.size(), raw.size() * 6 / 10);
    for (std::size_t bytes : {1, 2, 100, 65'536, 100'000}) EXPECT_TRUE(encoded(*codec, noise(bytes)).empty()) << bytes;
}

TEST_P(CodecTest, AnEmptyPageStaysEmpty) {
    auto const codec = make_codec(Spec::parse(GetParam()), 2);
    EXPECT_TRUE(encoded(*codec, {}).empty());
    EXPECT_TRUE(decoded(*codec, {}, 0).empty());
}

TEST_P(CodecTest, RefusesAnOutputThatMayBeTooSmall) {
    auto const codec = make_codec(Spec::parse(GetParam()), 2);
    if (codec->bound_bytes(1000) == 0) return; // none writes nothing
    Bytes const raw(1000);
    Bytes out(codec->bound_bytes(1000) - 1);
    EXPECT_THROW(codec->encode(raw, out), base::UsageError);
}

INSTANTIATE_TEST_SUITE_P(Specs, CodecTest, ::testing::ValuesIn(kAllSpecs), [](auto const& spec) {
    std::string name = spec.param;
    for (char& one : name) one = one == '+' || one == '-' ? '_' : one;
    return name;
});

TEST(Codec, RefusesElementsOfNoSize) {
    EXPECT_THROW(make_codec(Spec{}, 0), base::UsageError);
    EXPECT_THROW(make_codec(Spec{}, kMaxElementBytes + 1), base::UsageError);
}

TEST(Codec, BitshufflePagesHaveTheFormOfFilter32008) {
    Bytes const raw = samples(2 * 40'003, 2, 6);
    Bytes const page = encoded(*make_codec(Spec::parse("bitshuffle+lz4"), 2), raw);
    EXPECT_EQ(get_big_endian<std::uint64_t>(page.data()), raw.size());
    std::size_t const block_bytes = get_big_endian<std::uint32_t>(page.data() + 8);
    EXPECT_EQ(block_bytes % 16, 0u);
    std::size_t at = 12, left = raw.size() - 6;
    for (; left > 0; left -= std::min(left, block_bytes)) {
        auto const size = get_big_endian<std::uint32_t>(page.data() + at);
        Bytes block(std::min(left, block_bytes));
        EXPECT_EQ(LZ4_decompress_safe(reinterpret_cast<char const*>(page.data() + at + 4),
                                      reinterpret_cast<char*>(block.data()), static_cast<int>(size),
                                      static_cast<int>(block.size())),
                  static_cast<int>(block.size()));
        at += 4 + size;
    }
    EXPECT_EQ(Bytes(page.begin() + at, page.end()), Bytes(raw.end() - 6, raw.end())) << "three elements are left over";
}

TEST(Codec, Lz4PagesHaveTheFormOfFilter32004) {
    Bytes const raw = samples(2 * 5000, 2, 6);
    Bytes const page = encoded(*make_codec(Spec::parse("lz4"), 2), raw);
    EXPECT_EQ(get_big_endian<std::uint64_t>(page.data()), raw.size());
    EXPECT_EQ(get_big_endian<std::uint32_t>(page.data() + 8), raw.size());
    EXPECT_EQ(get_big_endian<std::uint32_t>(page.data() + 12), page.size() - 16);
}

// Another writer's page: blocks of four bytes, one of which did not shrink and lies there raw.
TEST(Codec, ReadsLz4PagesOfManyBlocks) {
    Bytes page(12);
    put_big_endian<std::uint64_t>(page.data(), 6);
    put_big_endian<std::uint32_t>(page.data() + 8, 4);
    for (char one : std::string("\0\0\0\4abcd\0\0\0\3\x20"
                                "ef",
                                15))
        page.push_back(std::byte(one));
    Bytes const raw = decoded(*make_codec(Spec::parse("lz4"), 1), page, 6);
    EXPECT_EQ(std::string(reinterpret_cast<char const*>(raw.data()), 6), "abcdef");
}

TEST(Codec, TakesTheBetterLz4EncoderForAColumn) {
    Bytes ramp(1 << 20); // its bit planes repeat with periods that only a general encoder finds
    for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = i % 8 < 4 ? std::byte(i / 8 >> (i % 8 * 8)) : std::byte{0};
    auto const codec = make_codec(Spec::parse("bitshuffle+lz4"), 8);
    Bytes const stored = encoded(*codec, ramp);
    EXPECT_LT(stored.size(), ramp.size() / 25);
    EXPECT_EQ(decoded(*codec, stored, ramp.size()), ramp);
}

} // namespace
} // namespace thalweg::codec
