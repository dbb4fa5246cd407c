#include "thalweg/codec/plane_lz4.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <lz4.h>
#include <random>
#include <vector>

namespace thalweg::codec {
namespace {

using Bytes = std::vector<std::byte>;

// Encodes with the margins that are asked for and not a byte more, and has LZ4 itself decode.
std::size_t encode_and_check(PlaneLz4& encoder, Bytes const& in, std::size_t plane_bytes) {
    Bytes padded(in.size() + 128, std::byte{0x5A});
    std::copy(in.begin(), in.end(), padded.begin() + 64);
    auto const bound = static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(in.size())));
    Bytes out(bound + 16), back(in.size());
    std::size_t const size = encoder.encode({padded.data() + 64, in.size()}, plane_bytes, out.data());
    EXPECT_LE(size, bound);
    int const decoded =
        LZ4_decompress_safe(reinterpret_cast<char const*>(out.data()), reinterpret_cast<char*>(back.data()),
                            static_cast<int>(size), static_cast<int>(back.size()));
    EXPECT_EQ(decoded, static_cast<int>(in.size()));
    EXPECT_EQ(back, in) << "of " << in.size() << " bytes in planes of " << plane_bytes;
    return size;
}

// Runs and noise of random lengths, and now and then a copy of the plane before.
Bytes planes_like_data(std::mt19937& random, std::size_t count, std::size_t plane_bytes) {
    Bytes bytes(count);
    for (std::size_t at = 0; at < count;) {
        std::size_t const length = std::min<std::size_t>(1 + random() % (1u << random() % 11), count - at);
        auto const kind = random() % 3;
        std::byte const constant = std::byte(random());
        for (std::size_t end = at + length; at < end; ++at) {
            bytes[at] = kind == 0                        ? constant
                        : kind == 1 && at >= plane_bytes ? bytes[at - plane_bytes]
                                                         : std::byte(random());
        }
    }
    return bytes;
}

TEST(PlaneLz4, IsReadByLz4WhateverTheBytes) {
    std::mt19937 random(11);
    for (Kernel const* kernel : usable_kernels()) {
        PlaneLz4 encoder(*kernel);
        for (int round = 0; round < 600; ++round) {
            std::size_t const plane_bytes = 1 + random() % (round % 2 ? 70 : 2000);
            encode_and_check(encoder, planes_like_data(random, 1 + random() % 9000, plane_bytes), plane_bytes);
        }
    }
}

TEST(PlaneLz4, KeepsTheRulesAtTheEndOfABlock) {
    PlaneLz4 encoder;
    for (std::size_t size = 1; size < 300; ++size) {
        encode_and_check(encoder, Bytes(size), 1);
        encode_and_check(encoder, Bytes(size), 16);
        encode_and_check(encoder, Bytes(size), 400);
    }
}

TEST(PlaneLz4, StoresRunsAndEqualPlanesInAFewBytes) {
    PlaneLz4 encoder;
    EXPECT_LT(encode_and_check(encoder, Bytes(16384), 1024), 100u);
    std::mt19937 random(5);
    Bytes planes(16384);
    for (std::size_t i = 0; i < 1024; ++i) planes[i] = std::byte(random());
    for (std::size_t i = 1024; i < planes.size(); ++i) planes[i] = planes[i - 1024];
    EXPECT_LT(encode_and_check(encoder, planes, 1024), 1024u + 100u);
}

} // namespace
} // namespace thalweg::codec
