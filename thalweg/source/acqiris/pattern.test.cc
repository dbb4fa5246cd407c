#include "thalweg/source/acqiris/pattern.h"

#include <vector>

#include <gtest/gtest.h>

namespace thalweg::source::acqiris {
namespace {

constexpr std::size_t kSamples = 2048;

// A ramp of 10 bits, packed bit by bit.
std::vector<std::byte> ramp(bool high_first, bool is_signed) {
    std::vector<std::byte> packed(kSamples * 10 / 8);
    for (std::size_t i = 0; i < kSamples; ++i) {
        auto const value = (i ^ (is_signed ? 512 : 0)) & 1023;
        for (std::size_t bit = 0; bit < 10; ++bit) {
            if ((value >> (high_first ? 9 - bit : bit) & 1) == 0) continue;
            auto const at = i * 10 + bit;
            packed[at / 8] |= std::byte{1} << (high_first ? 7 - at % 8 : at % 8);
        }
    }
    return packed;
}

TEST(Pattern, says_how_samples_are_to_be_unpacked) {
    for (bool const high_first : {false, true}) {
        for (bool const is_signed : {false, true}) {
            auto const packed = ramp(high_first, is_signed);
            for (bool const other_order : {false, true}) {
                for (bool const other_sign : {false, true}) {
                    Options options;
                    options.high_first = high_first != other_order;
                    options.is_signed = is_signed != other_sign;
                    auto const said = better_unpacking(packed, kSamples, options);
                    if (!other_order && !other_sign) {
                        EXPECT_EQ(said, "");
                    } else {
                        EXPECT_EQ(said, std::string("sample_order = '") + (high_first ? "high-first" : "low-first") +
                                            "' and signed = " + (is_signed ? "true" : "false"));
                    }
                }
            }
        }
    }
}

} // namespace
} // namespace thalweg::source::acqiris
