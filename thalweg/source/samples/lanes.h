// How eight packed samples come to the eight 16-bit lanes of a vector. Each lane takes two bytes and shifts them until
// its sample stands at the top; the bits of the neighbours below it are shifted out later. A sample of 14 bits may
// reach into a third byte: then a second pair of bytes, shifted the other way, gives the bits that the first one lacks.
// Vectors of SSSE3 and AVX2 shift all lanes by one number, so lanes are shifted by multiplication.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace thalweg::source::samples {

template <unsigned Bits, bool HighFirst> struct Lanes {
    std::array<char, 16> up_bytes{}, down_bytes{};            // for a shuffle of bytes
    std::array<std::int16_t, 8> up_factors{}, down_factors{}; // low and high half of the product, respectively
    static constexpr bool kHasDown = Bits > 12; // otherwise two bytes hold a sample, and `down` is not needed

    constexpr Lanes() {
        for (unsigned lane = 0; lane < 8; ++lane) {
            auto const byte = lane * Bits / 8, offset = lane * Bits % 8; // where the sample begins
            bool const reaches_third = offset + Bits > 16;
            put(up_bytes, lane, !HighFirst && reaches_third ? byte + 1 : byte);
            put(down_bytes, lane, HighFirst ? byte + 1 : byte);
            auto const up = HighFirst ? offset : (reaches_third ? 24 : 16) - Bits - offset;
            up_factors[lane] = power_of_two(up);
            auto const down = HighFirst ? 8 - offset : offset + Bits - 16;
            if (reaches_third) down_factors[lane] = power_of_two(16 - down);
        }
    }

  private:
    static constexpr std::int16_t power_of_two(unsigned exponent) { return static_cast<std::int16_t>(1U << exponent); }

    static constexpr void put(std::array<char, 16>& bytes, std::size_t lane, unsigned byte) {
        bytes[2 * lane] = static_cast<char>(HighFirst ? byte + 1 : byte);
        bytes[2 * lane + 1] = static_cast<char>(HighFirst ? byte : byte + 1);
    }
};

} // namespace thalweg::source::samples
