// Byte by byte what LZ4 itself decodes. Buffers have the exact size, for the sanitizers to see.
#include "thalweg/codec/lz4_block.h"
#include "thalweg/codec/plane_lz4.h"

#include <gtest/gtest.h>
#include <lz4.h>
#include <lz4hc.h>
#include <optional>
#include <random>
#include <vector>

namespace thalweg::codec {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kMarginBytes = 64;

char* chars(Bytes& bytes) { return reinterpret_cast<char*>(bytes.data()); }
char const* chars(Bytes const& bytes) { return reinterpret_cast<char const*>(bytes.data()); }

std::optional<Bytes> decoded_by_lz4(Bytes const& stored, std::size_t raw_bytes) {
    Bytes raw(raw_bytes);
    int const size =
        LZ4_decompress_safe(chars(stored), chars(raw), static_cast<int>(stored.size()), static_cast<int>(raw_bytes));
    return size == static_cast<int>(raw_bytes) ? std::optional(raw) : std::nullopt;
}

std::optional<Bytes> decoded(Bytes const& stored, std::size_t raw_bytes, std::size_t slack) {
    Bytes raw(raw_bytes + slack);
    if (!decode_lz4_block(stored, {raw.data(), raw_bytes}, slack)) return std::nullopt;
    raw.resize(raw_bytes);
    return raw;
}

// Noise, runs, patterns of every short period and copies from far back, in random lengths.
Bytes patterns(std::mt19937& random, std::size_t count) {
    Bytes bytes(count);
    for (std::size_t at = 0; at < count;) {
        std::size_t const length = std::min<std::size_t>(1 + random() % (1u << random() % 12), count - at);
        std::size_t const period = random() % 2 ? 1 + random() % 80 : 1 + random() % 70'000;
        bool const noise = period > at || random() % 3 == 0;
        for (std::size_t end = at + length; at < end; ++at)
            bytes[at] = noise ? std::byte(random()) : bytes[at - period];
    }
    return bytes;
}

// Level 0 and below: the fast encoder, with more and more haste; above it the thorough one.
Bytes encoded_by_lz4(Bytes const& raw, int level) {
    Bytes stored(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(raw.size()))));
    auto const raw_bytes = static_cast<int>(raw.size()), room = static_cast<int>(stored.size());
    int const size = level > 0 ? LZ4_compress_HC(chars(raw), chars(stored), raw_bytes, room, level)
                               : LZ4_compress_fast(chars(raw), chars(stored), raw_bytes, room, 1 - level);
    return {stored.begin(), stored.begin() + size};
}

Bytes encoded_as_planes(Bytes const& raw, std::size_t plane_bytes) {
    Bytes padded(raw.size() + 2 * kMarginBytes), stored(2 * raw.size() + 32);
    std::copy(raw.begin(), raw.end(), padded.begin() + kMarginBytes);
    std::size_t const size = PlaneLz4().encode({padded.data() + kMarginBytes, raw.size()}, plane_bytes, stored.data());
    return {stored.begin(), stored.begin() + size};
}

std::size_t any_size(std::mt19937& random) { return 1 + random() % (std::size_t{1} << (1 + random() % 16)); }

void check_sound(Bytes const& stored, Bytes const& raw) {
    for (std::size_t slack : {std::size_t{0}, std::size_t{7}, kMarginBytes}) {
        EXPECT_EQ(decoded(stored, raw.size(), slack), raw) << raw.size() << " bytes with a slack of " << slack;
    }
    EXPECT_FALSE(decoded(stored, raw.size() + 1, kMarginBytes)) << "the output is left short";
    EXPECT_FALSE(decoded(stored, raw.size() - 1, kMarginBytes)) << "the output is too small";
}

TEST(Lz4Block, ReadsWhatLz4WritesAtEveryLevel) {
    std::mt19937 random(3);
    for (int level : {-40, -3, 0, 1, 4, 9, 12}) {
        for (int round = 0; round < 60; ++round) {
            Bytes const raw = patterns(random, any_size(random));
            check_sound(encoded_by_lz4(raw, level), raw);
        }
    }
}

TEST(Lz4Block, ReadsWhatThePlaneEncoderWrites) {
    std::mt19937 random(4);
    for (int round = 0; round < 300; ++round) {
        Bytes const raw = patterns(random, any_size(random));
        check_sound(encoded_as_planes(raw, 1 + random() % 2000), raw);
    }
}

TEST(Lz4Block, ReadsRunsOfEverySize) {
    for (std::size_t size = 1; size < 1500; ++size) {
        Bytes const raw(size, std::byte{7});
        check_sound(encoded_by_lz4(raw, 0), raw);
    }
}

TEST(Lz4Block, TakesOfDamagedBlocksWhatLz4Takes) {
    std::mt19937 random(5);
    int taken = 0;
    for (int round = 0; round < 20'000; ++round) {
        Bytes const raw = patterns(random, 1 + random() % 600);
        Bytes stored = round % 2 ? encoded_by_lz4(raw, 0) : encoded_as_planes(raw, 1 + random() % 100);
        for (auto flips = 1 + random() % 3; flips > 0; --flips) {
            stored[random() % stored.size()] = std::byte(random() % 3 ? random() : random() % 2 * 255);
        }
        if (random() % 4 == 0) stored.resize(1 + random() % stored.size());
        Bytes const exact(stored.begin(), stored.end());
        std::size_t const slack = round % 3 ? kMarginBytes : 0;
        auto const ours = decoded(exact, raw.size(), slack);
        auto const theirs = decoded_by_lz4(exact, raw.size());
        if (ours || !theirs) {
            EXPECT_EQ(ours, theirs) << "round " << round; // LZ4 also takes matches at distance 0
        }
        taken += ours ? 1 : 0;
    }
    EXPECT_GT(taken, 1000);
}

Bytes block(std::initializer_list<int> values) {
    Bytes bytes;
    for (int value : values) bytes.push_back(std::byte(value));
    return bytes;
}

TEST(Lz4Block, RefusesMatchesThatBeginBeforeTheOutputOrNowhere) {
    auto const with_distance = [](int distance) {
        return block({0x4F, 1, 2, 3, 4, distance, 0, 0, 0x50, 1, 2, 3, 4, 5}); // 4 literals, a match of 19, 5 literals
    };
    for (std::size_t slack : {std::size_t{0}, kMarginBytes}) {
        EXPECT_TRUE(decoded(with_distance(1), 28, slack));
        EXPECT_TRUE(decoded(with_distance(4), 28, slack));
        EXPECT_FALSE(decoded(with_distance(5), 28, slack));
        EXPECT_FALSE(decoded(with_distance(0), 28, slack));
    }
}

TEST(Lz4Block, RefusesLengthsWithoutEnd) {
    for (std::size_t size : {1, 2, 3, 40, 5000})
        EXPECT_FALSE(decoded(Bytes(size, std::byte{0xFF}), 4000, kMarginBytes));
}

TEST(Lz4Block, AnEmptyBlockIsOneZero) {
    EXPECT_TRUE(decoded(block({0}), 0, 0));
    EXPECT_FALSE(decoded({}, 0, 0));
    EXPECT_FALSE(decoded({}, 1, kMarginBytes));
    EXPECT_FALSE(decoded(block({0}), 1, kMarginBytes));
    EXPECT_FALSE(decoded(block({0, 0}), 0, 0));
}

} // namespace
} // namespace thalweg::codec
