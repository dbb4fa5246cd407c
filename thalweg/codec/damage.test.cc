// Whatever the bytes, decode fills the page or throws DataError. Buffers have the exact size, for the sanitizers to
// see.
#include "thalweg/base/error.h"
#include "thalweg/codec/codec.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace thalweg::codec {
namespace {

using Bytes = std::vector<std::byte>;

class DamageTest : public ::testing::TestWithParam<char const*> {
  protected:
    static constexpr std::size_t kRawBytes = 2 * 9003; // two blocks, and a leftover of three elements

    void SetUp() override {
        raw_.resize(kRawBytes);
        for (std::size_t i = 0; i < kRawBytes; i += 2) raw_[i] = std::byte(random_() % 7);
        stored_.resize(codec_->bound_bytes(kRawBytes));
        stored_.resize(codec_->encode(raw_, stored_));
        ASSERT_FALSE(stored_.empty());
    }

    // True when it decoded, to whatever.
    bool decodes(Bytes const& stored, std::size_t raw_bytes = kRawBytes) {
        Bytes const exact(stored.begin(), stored.end());
        Bytes out(raw_bytes);
        try {
            codec_->decode(exact, out);
            return true;
        } catch (base::DataError const& error) {
            EXPECT_NE(std::string(error.what()).find("byte"), std::string::npos) << error.what();
            return false;
        }
    }

    std::mt19937 random_{2};
    std::unique_ptr<Codec> codec_ = make_codec(GetParam(), 2);
    Bytes raw_, stored_;
};

TEST_P(DamageTest, ATruncatedPageIsRefused) {
    // All of the first bytes, where the headers are, and then with growing steps.
    for (std::size_t size = 0; size < stored_.size(); size += size < 600 ? 1 : 17) {
        EXPECT_FALSE(decodes({stored_.begin(), stored_.begin() + size})) << size;
    }
    EXPECT_FALSE(decodes({stored_.begin(), stored_.end() - 1}));
}

TEST_P(DamageTest, APageThatIsTooLongIsRefused) {
    Bytes longer = stored_;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decodes(longer));
}

TEST_P(DamageTest, APageOfAnotherSizeIsRefused) {
    for (std::size_t raw_bytes : {std::size_t{0}, std::size_t{2}, kRawBytes - 2, kRawBytes + 2, 2 * kRawBytes}) {
        EXPECT_FALSE(decodes(stored_, raw_bytes)) << raw_bytes;
    }
}

TEST_P(DamageTest, EveryValueOfEveryHeaderByteIsSurvived) {
    for (std::size_t at = 0; at < 20; ++at) {
        for (int value = 0; value < 256; ++value) {
            Bytes damaged = stored_;
            damaged[at] = std::byte(value);
            decodes(damaged);
        }
    }
}

TEST_P(DamageTest, FlippedBytesAreSurvived) {
    for (int round = 0; round < 3000; ++round) {
        Bytes damaged = stored_;
        for (unsigned flips = 1 + random_() % 4; flips > 0; --flips) {
            damaged[random_() % damaged.size()] = std::byte(random_());
        }
        decodes(damaged);
    }
}

TEST_P(DamageTest, RandomBytesAreSurvived) {
    for (int round = 0; round < 3000; ++round) {
        Bytes random(random_() % 300);
        for (std::byte& one : random) one = std::byte(random_());
        // Half of them keep a sound header, to get further.
        if (round % 2) std::copy_n(stored_.begin(), std::min<std::size_t>(random.size(), 12), random.begin());
        decodes(random);
    }
}

INSTANTIATE_TEST_SUITE_P(Specs, DamageTest,
                         ::testing::Values("deflate", "lz4", "zstd", "shuffle+lz4", "bitshuffle+lz4", "bitshuffle+zstd",
                                           "bitshuffle+deflate", "shuffle", "bitshuffle", "root:splitint16+zstd",
                                           "root:uint16+zstd", "root:splituint16+lz4", "root:splitreal16+deflate"),
                         [](auto const& spec) {
                             std::string name = spec.param;
                             for (char& one : name) one = one == '+' || one == ':' ? '_' : one;
                             return name;
                         });

} // namespace
} // namespace thalweg::codec
