#include "thalweg/source/samples/unpack.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <random>

#include "thalweg/base/error.h"

namespace thalweg::source::samples {
namespace {

// Bit by bit, as the definition says it.
std::uint16_t sample_at(std::vector<std::uint8_t> const& packed, std::size_t index, Packing const& packing) {
    unsigned value = 0;
    for (unsigned i = 0; i < packing.bits; ++i) {
        auto const at = index * packing.bits + i;
        unsigned const bit = packed[at / 8] >> (packing.high_first ? 7 - at % 8 : at % 8) & 1U;
        value |= bit << (packing.high_first ? packing.bits - 1 - i : i);
    }
    bool const is_negative = packing.is_signed && (value >> (packing.bits - 1)) != 0;
    return static_cast<std::uint16_t>(is_negative ? value - (1U << packing.bits) : value);
}

std::vector<Packing> all_packings() {
    std::vector<Packing> all;
    for (auto const bits : {10U, 12U, 14U})
        for (auto const high_first : {false, true})
            for (auto const is_signed : {false, true}) all.push_back({bits, high_first, is_signed});
    return all;
}

// The packed bytes end where their memory ends, so that the address sanitizer sees each byte that is read beyond.
void expect_unpacked(UnpackKernel const& kernel, Packing const& packing, std::vector<std::uint8_t> const& packed,
                     std::size_t count) {
    auto const exact = std::make_unique<std::byte[]>(packed.size());
    std::copy(packed.begin(), packed.end(), reinterpret_cast<std::uint8_t*>(exact.get()));
    constexpr std::uint16_t kUntouched = 0xBEEF;
    std::vector<std::uint16_t> samples(count + 8, kUntouched);
    kernel.of(packing)(exact.get(), count, reinterpret_cast<std::byte*>(samples.data()));
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(samples[i], sample_at(packed, i, packing)) << kernel.name << ", " << packing.bits << " bits, " << i;
    for (std::size_t i = count; i < samples.size(); ++i) ASSERT_EQ(samples[i], kUntouched) << kernel.name;
}

TEST(Unpack, AllKernelsGiveWhatTheBitsSay) {
    std::mt19937 random(1);
    for (auto const& packing : all_packings()) {
        for (std::size_t count = 0; count < 100; ++count) {
            std::vector<std::uint8_t> packed(packed_bytes(packing.bits, count));
            for (auto& byte : packed) byte = static_cast<std::uint8_t>(random());
            for (auto const& kernel : unpack_kernels()) expect_unpacked(kernel, packing, packed, count);
        }
    }
}

TEST(Unpack, EachBitGoesToItsPlace) {
    constexpr std::size_t kCount = 35;
    for (auto const& packing : all_packings()) {
        auto const bytes = packed_bytes(packing.bits, kCount);
        for (std::size_t bit = 0; bit < 8 * bytes; ++bit) {
            std::vector<std::uint8_t> packed(bytes);
            packed[bit / 8] = static_cast<std::uint8_t>(1U << bit % 8);
            for (auto const& kernel : unpack_kernels()) expect_unpacked(kernel, packing, packed, kCount);
        }
    }
}

TEST(Unpack, OtherNumbersOfBitsAreRefused) {
    EXPECT_THROW(unpack_of({.bits = 11}), base::UsageError);
    EXPECT_NO_THROW(unpack_of({.bits = 14}));
}

} // namespace
} // namespace thalweg::source::samples
