#include "thalweg/codec/root_elements.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace thalweg::codec {
namespace {

constexpr std::uint32_t kSign = 0x80000000;
constexpr std::uint32_t kInfinity = 0x7f800000;       // of a float32
constexpr std::uint32_t kRebias = (127u - 15u) << 23; // between the exponents of the two
constexpr auto kBeyondHalf = std::bit_cast<std::uint32_t>(0x1p16f);
constexpr auto kNormalHalf = std::bit_cast<std::uint32_t>(0x1p-14f); // the smallest

std::uint16_t half_of(float value) {
    auto const bits = std::bit_cast<std::uint32_t>(value);
    auto const sign = static_cast<std::uint32_t>((bits & kSign) >> 16);
    auto magnitude = bits & ~kSign;
    if (magnitude > kInfinity) { // a NaN keeps what of its payload there is room for, and stays one
        magnitude = 0x7e00 | (magnitude >> 13 & 0x3ff);
    } else if (magnitude >= kBeyondHalf) {
        magnitude = 0x7c00;
    } else if (magnitude < kNormalHalf) {
        // Adding 0.5, whose last bit is worth as much as the last of these, rounds.
        auto const aligned = std::bit_cast<float>(magnitude) + 0.5f;
        magnitude = std::bit_cast<std::uint32_t>(aligned) - std::bit_cast<std::uint32_t>(0.5f);
    } else {
        auto const odd = magnitude >> 13 & 1;
        magnitude = (magnitude - kRebias + 0xfff + odd) >> 13;
    }
    return static_cast<std::uint16_t>(sign | magnitude);
}

float float_of(std::uint16_t half) {
    auto const sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
    auto const shifted = static_cast<std::uint32_t>(half & 0x7fff) << 13;
    bool const finite = (half & 0x7c00) != 0x7c00;
    // Multiplying by 2^112 mends the exponent, also of what is below the smallest normal half.
    auto const magnitude =
        finite ? std::bit_cast<std::uint32_t>(std::bit_cast<float>(shifted) * 0x1p112f) : shifted | kInfinity;
    return std::bit_cast<float>(sign | magnitude);
}

template <class From, class To, To convert(From)> bool each(std::byte const* in, std::byte* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        From from;
        std::memcpy(&from, in + i * sizeof(From), sizeof(From));
        To const to = convert(from);
        std::memcpy(out + i * sizeof(To), &to, sizeof(To));
    }
    return true;
}

} // namespace

Conversion half_conversion() { return {each<float, std::uint16_t, half_of>, each<std::uint16_t, float, float_of>}; }

} // namespace thalweg::codec
