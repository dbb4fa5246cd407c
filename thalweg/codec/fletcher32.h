// The checksum of HDF5's filter 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg::codec {

// Fletcher's sums of the 16-bit words of `bytes`, taken as big endian; a last odd byte is the upper half of a word.
std::uint32_t fletcher32(std::span<std::byte const> bytes);

// The bytes in front of the checksum that ends `bytes`. Throws base::DataError where it does not fit.
std::span<std::byte const> check_fletcher32(std::span<std::byte const> bytes);

} // namespace thalweg::codec
