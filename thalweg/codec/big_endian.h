// Integers as the HDF5 filters write them into their headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg::codec {

template <class Integer> void put_big_endian(std::byte* to, Integer value) {
    for (std::size_t i = sizeof(Integer); i-- > 0; value = static_cast<Integer>(value >> 8)) to[i] = std::byte(value);
}

template <class Integer> Integer get_big_endian(std::byte const* from) {
    Integer value = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
        value = static_cast<Integer>(value << 8 | std::to_integer<Integer>(from[i]));
    }
    return value;
}

} // namespace thalweg::codec
