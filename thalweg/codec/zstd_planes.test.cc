#include "thalweg/codec/zstd_planes.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <zstd.h>

#include "thalweg/codec/codec.h"
#include "thalweg/codec/root_codec.h"

namespace thalweg::codec {
namespace {

enum Plane { noisy, constant, skewed, repeating };

std::vector<std::byte> page_of(std::vector<Plane> const& planes, std::size_t plane_bytes) {
    std::mt19937 random(7);
    std::vector<std::byte> page;
    for (auto const plane : planes) {
        for (std::size_t i = 0; i < plane_bytes; ++i) {
            auto const word = random();
            page.push_back(plane == noisy      ? std::byte(word >> 8)
                           : plane == constant ? std::byte{42}
                           : plane == skewed   ? std::byte(word % 7 * (word >> 16) % 5)
                                               : std::byte(i % 100 * (1 + i / 5000)));
        }
    }
    return page;
}

// Each frame by the library itself, one behind the other.
std::vector<std::byte> decompressed(std::span<ZstdPlanes::Frame const> frames, std::span<std::byte const> out,
                                    std::size_t head_bytes) {
    std::vector<std::byte> page;
    std::size_t at = head_bytes;
    for (auto const& frame : frames) {
        std::vector<std::byte> raw(frame.raw_bytes);
        EXPECT_EQ(ZSTD_getFrameContentSize(out.data() + at, frame.stored_bytes), frame.raw_bytes);
        EXPECT_EQ(ZSTD_decompress(raw.data(), raw.size(), out.data() + at, frame.stored_bytes), frame.raw_bytes);
        EXPECT_LT(frame.stored_bytes + head_bytes, frame.raw_bytes); // ROOT's readers insist on it
        page.insert(page.end(), raw.begin(), raw.end());
        at += frame.stored_bytes + head_bytes;
    }
    return page;
}

TEST(ZstdPlanes, AreFramesThatAnyZstdReads) {
    std::mt19937 random(3);
    for (int i = 0; i < 300; ++i) {
        std::vector<Plane> planes(std::array{2, 4, 8}[i % 3]);
        for (auto& plane : planes) plane = static_cast<Plane>(random() % 4);
        auto const plane_bytes = ZstdPlanes::kMinPlaneBytes + random() % (i % 10 == 0 ? 120'000 : 9000);
        auto const page = page_of(planes, plane_bytes);
        ZstdPlanes writer(1 + i % 5);
        std::vector<std::byte> out(9 * planes.size() + writer.bound_bytes(page.size(), planes.size()));
        auto const frames = writer.compress(page, planes.size(), 9, out);
        bool const only_noise = std::all_of(planes.begin(), planes.end(), [](auto plane) { return plane == noisy; });
        EXPECT_EQ(frames.empty(), only_noise) << i;
        if (!frames.empty()) {
            ASSERT_EQ(decompressed(frames, out, 9), page) << i;
        }
    }
}

TEST(ZstdPlanes, StoreNoiseAndConstantsForNothing) {
    ZstdPlanes writer(1);
    auto const page = page_of({noisy, noisy, constant, constant}, 32768);
    std::vector<std::byte> out(36 + writer.bound_bytes(page.size(), 4));
    auto const frames = writer.compress(page, 4, 9, out);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].stored_bytes, 9 + 2 * (3 + 32768) + 2 * (3 + 1));
}

TEST(ZstdPlanes, PagesOfEventsComeBackAndAreNoLargerThanCompressedAsAWhole) {
    std::mt19937 random(5);
    std::normal_distribution<float> energy(50, 3);
    std::vector<float> values(32768);
    for (auto& value : values) value = energy(random);
    auto const raw = std::as_bytes(std::span(values));
    auto const codec = make_codec("root:splitreal32+zstd-1", sizeof(float));
    std::vector<std::byte> out(codec->bound_bytes(raw.size())), back(raw.size());
    auto const size = codec->encode(raw, out);
    codec->decode(std::span(out).first(size), back);
    EXPECT_EQ(std::memcmp(back.data(), raw.data(), raw.size()), 0);
    std::vector<std::byte> split(raw.size()), whole(ZSTD_compressBound(raw.size()));
    auto const plain = make_codec("root:splitreal32", sizeof(float));
    plain->encode(raw, split);
    EXPECT_LE(size, ZSTD_compress(whole.data(), whole.size(), split.data(), split.size(), 1));
}

} // namespace
} // namespace thalweg::codec
