// What LZ4 itself decodes, and what must stay the same in all versions.
#include "thalweg/codec/steady_lz4.h"
#include "thalweg/base/checksum.h"
#include "thalweg/codec/root_codec.h"
#include "thalweg/codec/testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <lz4hc.h>
#include <random>
#include <string>

namespace thalweg::codec {
namespace {

using testing::Bytes;

Bytes decoded_by_lz4(Bytes const& block, std::size_t raw_bytes) {
    Bytes raw(raw_bytes + 1);
    int const size =
        LZ4_decompress_safe(reinterpret_cast<char const*>(block.data()), reinterpret_cast<char*>(raw.data()),
                            static_cast<int>(block.size()), static_cast<int>(raw.size()));
    raw.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return raw;
}

Bytes bytes_of(std::string const& text) {
    auto const bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::string text_of(Bytes const& bytes) { return {reinterpret_cast<char const*>(bytes.data()), bytes.size()}; }

// As the text of a run with many columns.
Bytes description(std::size_t columns) {
    std::string text;
    for (std::size_t i = 0; i < columns; ++i)
        text += fmt::format(R"({{"name":"HLT_path{}_v{}","type":"float32","codec":"splitreal32"}},)", i * 7919, i % 9);
    return bytes_of(text);
}

// Noise, runs and copies from near and far (further than a match reaches), of a few letters.
Bytes patterns(std::mt19937& random, std::size_t size) {
    Bytes made;
    while (made.size() < size) {
        auto const most = 1u << random() % 11;
        auto const length = 1 + random() % most;
        auto const from = made.empty() ? 0 : random() % made.size();
        for (std::size_t i = 0, kind = random() % 3; i < length; ++i)
            made.push_back(kind == 0 || made.empty() ? std::byte(random() % 5)
                                                     : made[kind == 1 ? made.size() - 1 : (from + i) % made.size()]);
    }
    made.resize(size);
    return made;
}

TEST(SteadyLz4, LZ4DecodesWhatItEncodes) {
    std::mt19937 random(1);
    for (std::size_t size = 0; size < 300; ++size) {
        auto const raw = patterns(random, size);
        EXPECT_EQ(decoded_by_lz4(encode_steady_lz4(raw), size), raw) << size;
    }
    for (int round = 0; round < 60; ++round) {
        auto const raw = patterns(random, random() % 300'000);
        EXPECT_EQ(decoded_by_lz4(encode_steady_lz4(raw, random() % 2'000), raw.size()), raw) << round;
    }
}

std::size_t size_by_lz4(Bytes const& raw, bool is_searched) {
    Bytes block(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(raw.size()))));
    auto const* const from = reinterpret_cast<char const*>(raw.data());
    auto* const to = reinterpret_cast<char*>(block.data());
    auto const size = static_cast<int>(raw.size()), room = static_cast<int>(block.size());
    return static_cast<std::size_t>(is_searched ? LZ4_compress_HC(from, to, size, room, LZ4HC_CLEVEL_DEFAULT)
                                                : LZ4_compress_default(from, to, size, room));
}

// Metadata of wide tables are searched, longer ones are not.
TEST(SteadyLz4, ItIsAboutAsShortAsThatOfLZ4) {
    for (auto const columns : {100, 3'000, 30'000}) {
        auto const raw = description(static_cast<std::size_t>(columns));
        auto const by_lz4 = size_by_lz4(raw, columns <= 3'000);
        EXPECT_LT(static_cast<double>(encode_steady_lz4(raw).size()), 1.05 * static_cast<double>(by_lz4)) << columns;
    }
}

// A file that another version has begun is completed only if these stay.
TEST(SteadyLz4, TheBytesAreThoseOfAllVersions) {
    auto const block = encode_steady_lz4(bytes_of("abcdabcdabcdabcdabcdabcdabcd"));
    EXPECT_EQ(text_of(block), "\x4f" + std::string("abcd\x04\0\0\x50", 8) + "dabcd");
    EXPECT_EQ(fmt::format("{:016x}", base::xxh3(encode_steady_lz4(description(2'000)))), "136f77f22d2a0132");
    std::mt19937 random(3);
    EXPECT_EQ(fmt::format("{:016x}", base::xxh3(encode_steady_lz4(patterns(random, 200'000), 256))),
              "353a3077a256237c");
}

TEST(SteadyLz4, TheSizeDoesNotDependOnTheTail) {
    auto raw = description(100);
    auto const size = compress_root_metadata(raw, 256).size();
    ASSERT_LT(size, raw.size() / 2);
    std::mt19937 random(2);
    for (int round = 0; round < 20; ++round) {
        for (std::size_t i = raw.size() - 256; i < raw.size(); ++i)
            raw[i] = std::byte(random() % (round < 10 ? 256 : 2));
        auto const stored = compress_root_metadata(raw, 256);
        EXPECT_EQ(stored.size(), size);
        Bytes back(raw.size());
        decompress_root_blocks(stored, back);
        EXPECT_EQ(back, raw);
    }
}

TEST(SteadyLz4, WhatDoesNotShrinkStaysAsItIs) {
    std::mt19937 random(2);
    Bytes noise(5'000);
    for (auto& byte : noise) byte = std::byte(random());
    EXPECT_EQ(compress_root_metadata(noise), noise);
    EXPECT_EQ(compress_root_metadata(bytes_of("short")), bytes_of("short"));
    EXPECT_EQ(compress_root_metadata({}), Bytes{});
}

// More than one of ROOT's blocks, of 16 MiB each.
TEST(SteadyLz4, LongMetadataTakeSeveralBlocks) {
    auto const raw = description(400'000);
    ASSERT_GT(raw.size(), std::size_t{0xffffff});
    auto const stored = compress_root_metadata(raw, 256);
    Bytes back(raw.size());
    decompress_root_blocks(stored, back);
    EXPECT_EQ(back, raw);
}

} // namespace
} // namespace thalweg::codec
