#include "thalweg/features/sum_kernel.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

namespace thalweg::features {
namespace {

constexpr std::uint16_t kMasks[] = {0x8000, 0x7FFF, 0x0000, 0xFFFF};

// What the definition says: samples that may be signed, and pulses that may go downwards.
std::int32_t level_by_definition(std::uint16_t sample, std::uint16_t mask) {
    bool const is_signed = mask == 0 || mask == 0xFFFF;
    bool const is_negative = mask == 0x7FFF || mask == 0xFFFF;
    auto const value = is_signed ? static_cast<std::int16_t>(sample) : sample - 32768;
    return is_negative ? -1 - value : value;
}

TEST(Levels, RiseWithThePulse) {
    EXPECT_EQ(level_mask(false, false), 0x8000);
    EXPECT_EQ(level_mask(false, true), 0x7FFF);
    EXPECT_EQ(level_mask(true, false), 0x0000);
    EXPECT_EQ(level_mask(true, true), 0xFFFF);
    for (auto const mask : kMasks)
        for (std::uint32_t sample = 0; sample < 65536; sample += 13)
            EXPECT_EQ(level_of(static_cast<std::uint16_t>(sample), mask),
                      level_by_definition(static_cast<std::uint16_t>(sample), mask));
}

// The samples end where their memory ends, so that the address sanitizer sees what is read beyond.
TEST(SumKernels, AllGiveTheSumsOfTheDefinition) {
    std::mt19937 random(1);
    for (auto const mask : kMasks) {
        for (unsigned shift = 0; shift <= 7; ++shift) {
            for (std::size_t blocks = 0; blocks < 11; ++blocks) {
                auto const count = blocks << shift;
                auto const samples = std::make_unique<std::uint16_t[]>(count);
                for (std::size_t i = 0; i < count; ++i) samples[i] = static_cast<std::uint16_t>(random());
                if (count > 0) samples[random() % count] = mask == 0x8000 ? 0xFFFF : 0x8000; // one extreme value
                std::vector<std::int32_t> expected(blocks);
                std::int32_t largest = -32768;
                for (std::size_t i = 0; i < count; ++i) {
                    expected[i >> shift] += level_by_definition(samples[i], mask);
                    largest = std::max(largest, level_by_definition(samples[i], mask));
                }
                for (auto const& kernel : sum_kernels()) {
                    std::vector<std::int32_t> sums(blocks);
                    EXPECT_EQ(kernel.sum_blocks(samples.get(), blocks, shift, mask, sums.data()), largest);
                    EXPECT_EQ(sums, expected) << kernel.name << ", shift " << shift << ", " << blocks << " blocks";
                }
            }
        }
    }
}

TEST(SumKernels, ExtremeValuesDoNotOverflow) {
    for (auto const value : {0x0000, 0x7FFF, 0x8000, 0xFFFF}) {
        std::vector<std::uint16_t> const samples(256, static_cast<std::uint16_t>(value));
        for (auto const mask : kMasks) {
            for (auto const& kernel : sum_kernels()) {
                std::vector<std::int32_t> sums(4);
                kernel.sum_blocks(samples.data(), 4, 6, mask, sums.data());
                EXPECT_EQ(sums, std::vector<std::int32_t>(4, 64 * level_by_definition(samples[0], mask)));
            }
        }
    }
}

TEST(SumKernels, AllFindTheSameRise) {
    std::mt19937 random(2);
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::int32_t> sums(3 + random() % 40);
        for (auto& each : sums) each = static_cast<std::int32_t>(random() % 20) - 10;
        auto const limit = static_cast<std::int32_t>(random() % 22);
        auto const from = 3 + random() % (sums.size() - 2);
        auto expected = from;
        while (expected < sums.size() &&
               sums[expected] - std::min({sums[expected - 3], sums[expected - 2], sums[expected - 1]}) <= limit)
            ++expected;
        for (auto const& kernel : sum_kernels())
            ASSERT_EQ(kernel.find_rise(sums.data(), from, sums.size(), limit), expected) << kernel.name;
    }
}

} // namespace
} // namespace thalweg::features
