#include "thalweg/format/byte_order.h"

#include <cstdint>
#include <cstring>

namespace thalweg::format {
namespace {

std::uint16_t swapped(std::uint16_t value) { return __builtin_bswap16(value); }
std::uint32_t swapped(std::uint32_t value) { return __builtin_bswap32(value); }
std::uint64_t swapped(std::uint64_t value) { return __builtin_bswap64(value); }

template <typename Number> void swap_all(std::span<std::byte> bytes) {
    for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
        Number value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        value = swapped(value);
        std::memcpy(bytes.data() + at, &value, sizeof value);
    }
}

} // namespace

void swap_numbers(std::span<std::byte> bytes, model::Scalar scalar) {
    switch (model::size_bytes(scalar) / (model::is_complex(scalar) ? 2 : 1)) {
    case 2:
        return swap_all<std::uint16_t>(bytes);
    case 4:
        return swap_all<std::uint32_t>(bytes);
    case 8:
        return swap_all<std::uint64_t>(bytes);
    default:
        return;
    }
}

} // namespace thalweg::format
