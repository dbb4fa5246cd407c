// Every encoding with every compression, there and back; and the form of the blocks.
#include "thalweg/base/error.h"
#include "thalweg/codec/big_endian.h"
#include "thalweg/codec/root_codec.h"
#include "thalweg/codec/testing.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <random>
#include <tuple>
#include <vector>
#include <xxhash.h>

namespace thalweg::codec {
namespace {

using testing::Bytes, testing::decoded, testing::encoded;

// Random bytes of which only every `period`-th is not 0: from noise to what shrinks well.
Bytes page(std::size_t size, std::size_t period, unsigned seed) {
    std::mt19937 random(seed);
    Bytes made(size);
    for (std::size_t i = 0; i < size; i += period) made[i] = std::byte(random());
    return made;
}

std::size_t size_at(Bytes const& stored, std::size_t at) {
    return std::to_integer<std::size_t>(stored[at]) | std::to_integer<std::size_t>(stored[at + 1]) << 8 |
           std::to_integer<std::size_t>(stored[at + 2]) << 16;
}

std::string tag_of(Bytes const& stored) { return {reinterpret_cast<char const*>(stored.data()), 3}; }

struct Exact {
    char const* encoding;
    std::size_t element_bytes;
};

constexpr Exact kExact[] = {
    {"byte", 1},        {"char", 1},        {"int8", 1},        {"uint8", 1},        {"int16", 2},
    {"uint16", 2},      {"int32", 4},       {"uint32", 4},      {"int64", 8},        {"uint64", 8},
    {"real16", 2},      {"real32", 4},      {"real64", 8},      {"index64", 8},      {"splitint16", 2},
    {"splituint16", 2}, {"splitint32", 4},  {"splituint32", 4}, {"splitint64", 8},   {"splituint64", 8},
    {"splitreal16", 2}, {"splitreal32", 4}, {"splitreal64", 8}, {"splitindex32", 4}, {"splitindex64", 8}};

class RootRoundTrip : public ::testing::TestWithParam<std::tuple<Exact, char const*>> {};

// Any bits come back, those of a NaN and of the least integer too.
TEST_P(RootRoundTrip, GivesBackEveryPage) {
    auto const& [exact, compression] = GetParam();
    auto const codec = make_codec(std::string("root:") + exact.encoding + "+" + compression, exact.element_bytes);
    for (std::size_t elements : {0, 1, 2, 3, 7, 63, 255, 256, 257, 511, 513, 1000, 16'384, 20'001}) {
        for (std::size_t period : {1, 4, 16}) {
            auto const raw = page(elements * exact.element_bytes, period, static_cast<unsigned>(elements));
            auto const stored = encoded(*codec, raw);
            EXPECT_LE(stored.size(), raw.size());
            EXPECT_EQ(decoded(*codec, stored, raw.size()), raw) << exact.encoding << " " << elements << " " << period;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, RootRoundTrip,
                         ::testing::Combine(::testing::ValuesIn(kExact),
                                            ::testing::Values("none", "zstd-1", "lz4", "deflate")),
                         [](auto const& each) {
                             std::string name = std::get<1>(each.param);
                             if (name == "zstd-1") name = "zstd";
                             return std::get<0>(each.param).encoding + ("_" + name);
                         });

TEST(RootBlocks, GiveBackWhatKeepsLessThanAllBits) {
    for (char const* compression : {"none", "zstd", "lz4", "deflate"}) {
        for (std::size_t elements : {0, 1, 7, 8, 9, 1001}) {
            auto bits = page(elements, 1, 3);
            for (auto& each : bits) each &= std::byte{1};
            auto const bit = make_codec(std::string("root:bit+") + compression, 1);
            EXPECT_EQ(decoded(*bit, encoded(*bit, bits), elements), bits);
            for (unsigned width = 10; width < 32; ++width) {
                auto const codec = make_codec(fmt::format("root:truncated-{}+{}", width, compression), 4);
                std::vector<std::uint32_t> words(elements);
                std::mt19937 random(width);
                for (auto& each : words) each = static_cast<std::uint32_t>(random()) >> (32 - width) << (32 - width);
                Bytes raw(4 * elements);
                if (elements > 0) std::memcpy(raw.data(), words.data(), raw.size());
                EXPECT_EQ(decoded(*codec, encoded(*codec, raw), raw.size()), raw) << width;
            }
        }
    }
}

TEST(RootBlocks, QuantizedValuesComeBackWithinHalfAStep) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> inside(-3, 5);
    std::vector<float> values(1003);
    for (auto& each : values) each = inside(random);
    Bytes raw(4 * values.size());
    std::memcpy(raw.data(), values.data(), raw.size());
    for (int bits = 1; bits <= 32; ++bits) {
        auto const codec = make_codec(fmt::format("root:quantized-{}--3-5+zstd", bits), 4);
        auto const back = decoded(*codec, encoded(*codec, raw), raw.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            float value;
            std::memcpy(&value, back.data() + 4 * i, 4);
            ASSERT_NEAR(value, values[i], 4 / (std::exp2(bits) - 1) + 1e-6) << bits;
        }
    }
}

TEST(RootBlocks, HaveAHeadOfNineBytes) {
    auto const raw = page(10'000, 16, 1);
    for (auto const& [name, tag] : {std::pair{"root:uint8+zstd", std::string("ZS\1")},
                                    {"root:uint8+lz4", "L4\1"},
                                    {"root:uint8+deflate", "ZL\x08"}}) {
        auto const stored = encoded(*make_codec(name, 1), raw);
        EXPECT_EQ(tag_of(stored), tag);
        EXPECT_EQ(size_at(stored, 3), stored.size() - 9);
        EXPECT_EQ(size_at(stored, 6), raw.size());
        Bytes by_itself(raw.size());
        decompress_root_blocks(stored, by_itself);
        EXPECT_EQ(by_itself, raw);
    }
    auto const lz4 = encoded(*make_codec("root:uint8+lz4", 1), raw);
    EXPECT_EQ(get_big_endian<std::uint64_t>(lz4.data() + 9), XXH64(lz4.data() + 17, lz4.size() - 17, 0));
}

TEST(RootBlocks, AnyCompressionIsReadWhateverTheNameSays) {
    auto const raw = page(5000, 16, 1);
    auto const plain = make_codec("root:uint8", 1);
    for (char const* name : {"root:uint8+zstd", "root:uint8+lz4", "root:uint8+deflate", "root:uint8"}) {
        EXPECT_EQ(decoded(*plain, encoded(*make_codec(name, 1), raw), raw.size()), raw) << name;
    }
}

TEST(RootBlocks, ReadsLzma) {
    auto const raw = page(5000, 16, 1);
    Bytes stored(9 + 6000);
    std::size_t size = 0;
    ASSERT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<std::uint8_t const*>(raw.data()),
                                      raw.size(), reinterpret_cast<std::uint8_t*>(stored.data() + 9), &size, 6000),
              LZMA_OK);
    stored.resize(9 + size);
    std::memcpy(stored.data(), "XZ\0", 3);
    for (std::size_t i = 0; i < 3; ++i) stored[3 + i] = std::byte(size >> 8 * i);
    for (std::size_t i = 0; i < 3; ++i) stored[6 + i] = std::byte(raw.size() >> 8 * i);
    EXPECT_EQ(decoded(*make_codec("root:uint8", 1), stored, raw.size()), raw);
    for (std::size_t at = 9; at < stored.size(); ++at) {
        auto damaged = stored;
        damaged[at] ^= std::byte{0x10};
        EXPECT_THROW(decoded(*make_codec("root:uint8", 1), damaged, raw.size()), base::DataError) << at;
    }
}

TEST(RootBlocks, ManyOfThemHoldAPageBeyond16MiB) {
    auto const raw = page(4 * 0xffffff / 3, 4096, 1); // of 8-byte elements: 20 MB
    Bytes const large(raw.begin(), raw.begin() + raw.size() / 8 * 8);
    for (char const* name : {"root:splitint64+zstd-1", "root:uint64+lz4"}) {
        auto const codec = make_codec(name, 8);
        auto const stored = encoded(*codec, large);
        EXPECT_LT(stored.size(), large.size() / 10);
        EXPECT_EQ(size_at(stored, 6), 0xffffffu);
        auto const second = 9 + size_at(stored, 3);
        EXPECT_EQ(size_at(stored, second + 6), large.size() - 0xffffff);
        EXPECT_EQ(second + 9 + size_at(stored, second + 3), stored.size());
        EXPECT_EQ(decoded(*codec, stored, large.size()), large);
    }
}

// Readers refuse a block that is not smaller than what it holds.
TEST(RootBlocks, OneThatDoesNotShrinkLeavesThePageAsItIs) {
    auto raw = page(0xffffff + 8, 4096, 1); // the second block would have 8 bytes
    auto const codec = make_codec("root:uint8+zstd-1", 1);
    EXPECT_EQ(encoded(*codec, raw), raw);
    EXPECT_EQ(decoded(*codec, raw, raw.size()), raw);
    auto const noise = page(1000, 1, 1);
    auto const split = make_codec("root:splituint16+zstd-1", 2);
    EXPECT_EQ(encoded(*split, noise), encoded(*make_codec("root:splituint16", 2), noise));
}

} // namespace
} // namespace thalweg::codec
