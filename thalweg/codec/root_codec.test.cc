#include "thalweg/codec/root_codec.h"

#include "thalweg/base/error.h"
#include "thalweg/codec/testing.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace thalweg::codec {
namespace {

using testing::Bytes, testing::decoded, testing::encoded;

template <class Value> Bytes bytes_of(std::vector<Value> const& values) {
    Bytes bytes(values.size() * sizeof(Value));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

Bytes bytes(std::initializer_list<unsigned> values) {
    Bytes made;
    for (unsigned each : values) made.push_back(std::byte(each));
    return made;
}

// What is written down in the specification, worked out by hand, in both directions.
template <class Value>
void expect_form(std::string const& encoding, std::vector<Value> const& values, Bytes const& packed) {
    auto const codec = make_codec("root:" + encoding, sizeof(Value));
    EXPECT_EQ(encoded(*codec, bytes_of(values)), packed) << encoding;
    EXPECT_EQ(decoded(*codec, packed, values.size() * sizeof(Value)), bytes_of(values)) << encoding;
}

TEST(RootCodec, BitsAreEightToAByteFromTheLowest) {
    expect_form<std::uint8_t>("bit", {1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1}, bytes({0x81, 0x06}));
    expect_form<std::uint8_t>("bit", {1, 1, 1, 1, 1, 1, 1, 1}, bytes({0xff}));
    EXPECT_EQ(encoded(*make_codec("root:bit", 1), bytes({0x80, 0, 2, 0xff})), bytes({0x0d})) << "not 0 is true";
}

TEST(RootCodec, PlainElementsAreLittleEndian) {
    expect_form<std::uint8_t>("byte", {1, 255}, bytes({1, 255}));
    expect_form<char>("char", {'a', 'b'}, bytes({'a', 'b'}));
    expect_form<std::int8_t>("int8", {-1, 2}, bytes({255, 2}));
    expect_form<std::int16_t>("int16", {-2, 0x1234}, bytes({0xfe, 0xff, 0x34, 0x12}));
    expect_form<std::uint32_t>("uint32", {0x12345678}, bytes({0x78, 0x56, 0x34, 0x12}));
    expect_form<std::int64_t>("int64", {-2}, bytes({0xfe, 255, 255, 255, 255, 255, 255, 255}));
    expect_form<float>("real32", {1.0f}, bytes({0, 0, 0x80, 0x3f}));
    expect_form<double>("real64", {-2.0}, bytes({0, 0, 0, 0, 0, 0, 0, 0xc0}));
    expect_form<std::uint16_t>("real16", {0x3c00}, bytes({0, 0x3c}));
}

TEST(RootCodec, SplitPutsFirstBytesFirst) {
    expect_form<std::uint16_t>("splituint16", {0x0102, 0x0304, 0x0506}, bytes({2, 4, 6, 1, 3, 5}));
    expect_form<std::uint32_t>("splituint32", {0x01020304, 0x05060708}, bytes({4, 8, 3, 7, 2, 6, 1, 5}));
    expect_form<std::uint64_t>("splituint64", {0x0102030405060708, 1},
                               bytes({8, 1, 7, 0, 6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1, 0}));
    expect_form<float>("splitreal32", {1.0f, -2.0f}, bytes({0, 0, 0, 0, 0x80, 0, 0x3f, 0xc0}));
    expect_form<double>("splitreal64", {1.0, -2.0}, bytes({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0, 0x3f, 0xc0}));
    expect_form<std::uint16_t>("splitreal16", {0x3c00, 0xc001}, bytes({0, 1, 0x3c, 0xc0}));
}

TEST(RootCodec, SplitSignedIntegersAreZigzag) {
    expect_form<std::int16_t>("splitint16", {0, -1, 1, -32768, 32767},
                              bytes({0, 1, 2, 0xff, 0xfe, 0, 0, 0, 0xff, 0xff}));
    expect_form<std::int32_t>("splitint32", {-300, 300}, bytes({0x57, 0x58, 2, 2, 0, 0, 0, 0}));
    expect_form<std::int32_t>("splitint32", {std::numeric_limits<std::int32_t>::min()}, bytes({255, 255, 255, 255}));
    expect_form<std::int64_t>("splitint64", {std::numeric_limits<std::int64_t>::min(), -2},
                              bytes({255, 3, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0}));
}

TEST(RootCodec, IndexColumnsHoldSumsOrTheirDifferences) {
    expect_form<std::uint64_t>("index32", {1, 0x12345}, bytes({1, 0, 0, 0, 0x45, 0x23, 1, 0}));
    expect_form<std::uint64_t>("index64", {3}, bytes({3, 0, 0, 0, 0, 0, 0, 0}));
    expect_form<std::uint64_t>("splitindex32", {1000, 1001, 1001}, bytes({0xe8, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0}));
    expect_form<std::uint64_t>("splitindex64", {1000, 1003},
                               bytes({0xe8, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(RootCodec, HalvesAreRoundedToTheNearest) {
    expect_form<float>("real16", {1.0f, -2.0f, 65504.0f, 0x1p-24f, -0.0f, 0x1p-14f, INFINITY},
                       bytes({0, 0x3c, 0, 0xc0, 0xff, 0x7b, 1, 0, 0, 0x80, 0, 4, 0, 0x7c}));
    auto const codec = make_codec("root:real16", 4);
    // 2049 lies between two halves, 2051 too: each goes to the even one; 65520 is the first that becomes infinite.
    EXPECT_EQ(encoded(*codec, bytes_of<float>({2049, 2051, 65519, 65520, 1e30f, 0x1p-25f, 0x1.8p-25f, 0x1.ffcp-15f})),
              bytes({0, 0x68, 2, 0x68, 0xff, 0x7b, 0, 0x7c, 0, 0x7c, 0, 0, 1, 0, 0, 4}));
    for (unsigned half = 0; half < 0x10000; ++half) {
        auto const stored = bytes({half & 255, half >> 8});
        auto const value = decoded(*codec, stored, 4);
        bool const signals = (half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0 && (half & 0x200) == 0;
        EXPECT_EQ(encoded(*codec, value), signals ? bytes({half & 255, half >> 8 | 2}) : stored) << half;
    }
}

TEST(RootCodec, TruncatedRealsKeepTheirUpperBits) {
    // 1.0 is 0x3f800000 and -2.0 is 0xc0000000: of 12 bits 0x3f8 and 0xc00 are left.
    expect_form<float>("truncated-12", {1.0f, -2.0f, 1.0f}, bytes({0xf8, 0x03, 0xc0, 0xf8, 0x03}));
    auto const codec = make_codec("root:truncated-16", 4);
    EXPECT_EQ(decoded(*codec, encoded(*codec, bytes_of<float>({1.0f + 0x1p-7f + 0x1p-8f})), 4),
              bytes_of<float>({1.0f + 0x1p-7f}));
}

TEST(RootCodec, QuantizedRealsAreStepsOfARange) {
    expect_form<float>("quantized-2-0-3", {0, 1, 2, 3, 3}, bytes({0xe4, 0x03}));
    expect_form<float>("quantized-8--1-1.5", {-1, 1.5f}, bytes({0, 255}));
    expect_form<float>("quantized-32--1e+05-1e+05", {-1e5f, 1e5f}, bytes({0, 0, 0, 0, 255, 255, 255, 255}));
    // No float32 is 0.1: the nearest lies above it.
    expect_form<float>("quantized-32-0-0.1", {0.0f, 0.1f}, bytes({0, 0, 0, 0, 255, 255, 255, 255}));
    auto const codec = make_codec("root:quantized-1-0-1", 4);
    EXPECT_EQ(encoded(*codec, bytes_of<float>({0.49f, 0.5f, 1})), bytes({6}));
    for (float outside : {-0.01f, 1.01f, NAN}) {
        EXPECT_THROW(encoded(*codec, bytes_of<float>({outside})), base::UsageError) << outside;
    }
}

TEST(RootCodec, ASwitchTellsWhereOneAlternativeIs) {
    auto const stored = bytes({9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0});
    EXPECT_EQ(decoded(*make_codec("root:switch-1", 8), stored, 16), bytes_of<std::uint64_t>({1, 0}));
    EXPECT_EQ(decoded(*make_codec("root:switch-2", 8), stored, 16), bytes_of<std::uint64_t>({0, 1}));
    EXPECT_THROW(encoded(*make_codec("root:switch-2", 8), Bytes(16)), base::UsageError);
}

TEST(RootCodec, ReadsIntegersIntoOtherWidthsWhereTheyFit) {
    auto const wider = make_codec("root:splitint16", 8);
    EXPECT_EQ(decoded(*wider, bytes({1, 4, 0, 0}), 16), bytes_of<std::int64_t>({-1, 2}));
    auto const narrower = make_codec("root:splitint32", 2);
    EXPECT_EQ(decoded(*narrower, bytes({255, 255, 0, 0}), 2), bytes_of<std::int16_t>({-32768}));
    EXPECT_THROW(decoded(*narrower, bytes({0, 0, 1, 0}), 2), base::DataError) << "32768";
    EXPECT_EQ(decoded(*make_codec("root:uint64", 4), bytes({1, 0, 0, 0x80, 0, 0, 0, 0}), 4),
              bytes_of<std::uint32_t>({0x80000001}));
    EXPECT_THROW(decoded(*make_codec("root:uint64", 4), bytes({1, 0, 0, 0, 1, 0, 0, 0}), 4), base::DataError);
    EXPECT_THROW(encoded(*make_codec("root:index32", 8), bytes_of<std::uint64_t>({1, std::uint64_t{1} << 32})),
                 base::UsageError);
    // The sums of the first block must not count in the second, which is not full.
    std::vector<std::uint64_t> sums(300, 1);
    sums.back() = 65'535;
    auto const short_sums = make_codec("root:splitindex64", 2);
    EXPECT_EQ(decoded(*short_sums, encoded(*make_codec("root:splitindex64", 8), bytes_of(sums)), 600).size(), 600u);
}

TEST(RootCodec, NamesAreRefusedWithAListOfWhatThereIs) {
    for (char const* name : {"root:", "root:int24", "root:int32+", "root:int32+gzip", "root:int32+zstd-99",
                             "root:int32+shuffle+lz4", "root:splitint8", "root:switch-0", "root:switch-x",
                             "root:truncated-9", "root:truncated-32", "root:quantized-33-0-1", "root:quantized-8-1-0",
                             "root:quantized-8-0-1-2", "root:quantized-8-0-nan", "root:quantized-8-0-1e39"}) {
        EXPECT_THROW(make_codec(name, 4), base::UsageError) << name;
    }
    for (auto const& [name, element_bytes] : {std::pair{"root:real32", 8},
                                              {"root:bit", 4},
                                              {"root:truncated-12", 8},
                                              {"root:int32", 3},
                                              {"root:int32", 0},
                                              {"root:char", 2},
                                              {"root:splitreal64", 4},
                                              {"root:switch-1", 1}}) {
        EXPECT_THROW(make_codec(name, static_cast<std::size_t>(element_bytes)), base::UsageError) << name;
    }
    try {
        make_codec("root:int24", 4);
    } catch (base::UsageError const& error) {
        EXPECT_NE(std::string(error.what()).find("splitindex64"), std::string::npos) << error.what();
    }
}

TEST(RootCodec, ElementsMustBeWhole) {
    auto const codec = make_codec("root:splitint32+zstd", 4);
    Bytes raw(7), out(codec->bound_bytes(8));
    EXPECT_THROW(codec->encode(raw, out), base::UsageError);
    EXPECT_THROW(codec->decode(out, raw), base::DataError);
    EXPECT_THROW(codec->encode(Bytes(8), std::span(out).first(7)), base::UsageError);
}

TEST(RootCodec, TellsRootsNumberOfACompression) {
    EXPECT_EQ(compression_settings("root:splitint32+zstd"), 505u);
    EXPECT_EQ(compression_settings("root:splitint32+zstd-1"), 501u);
    EXPECT_EQ(compression_settings("root:bit+lz4"), 404u);
    EXPECT_EQ(compression_settings("root:bit+deflate"), 101u);
    EXPECT_EQ(compression_settings("root:bit+deflate-9"), 109u);
    EXPECT_EQ(compression_settings("root:bit+none"), 0u);
    EXPECT_EQ(compression_settings("root:quantized-8-0-1e+05"), 0u);
}

TEST(RootCodec, ANumberOfRootsGivesBackTheCompression) {
    for (std::string const name : {"none", "deflate-1", "deflate-9", "lz4", "zstd-1", "zstd-5"}) {
        EXPECT_EQ(compression_of_settings(compression_settings("root:byte+" + name)), name);
    }
    for (auto const compression : kCompressions) { // each codec can be written into an RNTuple, or is refused by name
        auto const name = Spec{Prefilter::none, compression, 0}.name();
        auto const settings = compression_settings("root:byte+" + name);
        EXPECT_EQ(settings == 0, compression == Compression::none) << name;
    }
    EXPECT_EQ(compression_of_settings(207), ""); // lzma is read, and not written
    EXPECT_EQ(compression_of_settings(905), "");
}

} // namespace
} // namespace thalweg::codec
