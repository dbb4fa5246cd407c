#include "thalweg/codec/transposer.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace thalweg::codec {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    Bytes bytes(count);
    for (std::byte& one : bytes) one = std::byte(random());
    return bytes;
}

// What the formats say, one bit at a time.
Bytes shuffled(Bytes const& in, std::size_t size) {
    Bytes out = in;
    std::size_t const elements = in.size() / size;
    for (std::size_t i = 0; i < elements * size; ++i) out[i % size * elements + i / size] = in[i];
    return out;
}

Bytes bit_shuffled(Bytes const& in, std::size_t size) {
    Bytes out(in.size());
    std::size_t const plane_bytes = in.size() / size / 8;
    for (std::size_t i = 0; i < in.size(); ++i) {
        for (std::size_t bit = 0; bit < 8; ++bit) {
            std::size_t const element = i / size;
            bool const set = (std::to_integer<unsigned>(in[i]) >> bit & 1) != 0;
            if (set) out[(i % size * 8 + bit) * plane_bytes + element / 8] |= std::byte(1 << element % 8);
        }
    }
    return out;
}

class TransposerTest : public ::testing::TestWithParam<std::size_t> {
  protected:
    Kernel const& kernel() const { return *usable_kernels()[GetParam()]; }
};

TEST_P(TransposerTest, ShufflesAndUnshufflesAnyElementAndCount) {
    for (std::size_t size = 1; size <= 16; ++size) {
        Transposer transposer(size, kernel());
        for (std::size_t bytes :
             {0ul, 1ul, size, 7 * size + size / 2, 64 * size, 511 * size + 1, 513 * size, 1300 * size}) {
            Bytes const in = random_bytes(bytes, static_cast<unsigned>(bytes));
            Bytes out(bytes), back(bytes);
            transposer.shuffle(in, out.data());
            EXPECT_EQ(out, shuffled(in, size)) << size << " " << bytes;
            transposer.unshuffle(out, back.data());
            EXPECT_EQ(back, in) << size << " " << bytes;
        }
    }
}

TEST_P(TransposerTest, ShufflesAndUnshufflesBitsOfAnyElementAndCount) {
    for (std::size_t size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 1000}) {
        Transposer transposer(size, kernel());
        for (std::size_t elements : {0, 8, 16, 24, 248, 256, 264, 504, 512, 520, 1096}) {
            Bytes const in = random_bytes(elements * size, static_cast<unsigned>(elements));
            Bytes out(in.size()), back(in.size());
            transposer.shuffle_bits(in, out.data());
            EXPECT_EQ(out, bit_shuffled(in, size)) << size << " " << elements;
            transposer.unshuffle_bits(out, back.data());
            EXPECT_EQ(back, in) << size << " " << elements;
        }
    }
}

TEST_P(TransposerTest, MarksRepeatsAsTheScalarKernelDoes) {
    Bytes bytes = random_bytes(1024, 3);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] &= std::byte(1);
    for (std::size_t distance : {1, 2, 63, 100}) {
        std::uint64_t expected[8] = {}, marked[8] = {};
        kScalarKernel.mark_repeats(bytes.data() + 128, 500, distance, expected);
        kernel().mark_repeats(bytes.data() + 128, 500, distance, marked);
        for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(marked[i], expected[i]);
        EXPECT_EQ(expected[0] >> 5 & 1, bytes[133] == bytes[133 - distance]);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, TransposerTest, ::testing::Range(std::size_t{0}, usable_kernels().size()),
                         [](auto const& spec) { return std::string(usable_kernels()[spec.param]->name); });

} // namespace
} // namespace thalweg::codec
