#include <algorithm>
#include <cstring>

#include "thalweg/source/raw/column_maker.h"

namespace thalweg::source::raw {
namespace {

// All numbers of a word at once: after the bytes of the word are reversed, its numbers are in the wrong order.
template <std::size_t Width> std::uint64_t swapped(std::uint64_t word) {
    if constexpr (Width == 8) return __builtin_bswap64(word);
    if constexpr (Width == 4) return __builtin_bswap64(word) << 32 | __builtin_bswap64(word) >> 32;
    constexpr std::uint64_t kLow = 0x00FF'00FF'00FF'00FF;
    return (word & kLow) << 8 | (word >> 8 & kLow);
}

template <std::size_t Width> void swap_words(std::byte* numbers, std::size_t size_bytes) {
    std::uint64_t word = 0;
    for (; size_bytes >= sizeof word; size_bytes -= sizeof word, numbers += sizeof word) {
        std::memcpy(&word, numbers, sizeof word);
        word = swapped<Width>(word);
        std::memcpy(numbers, &word, sizeof word);
    }
    for (; size_bytes >= Width; size_bytes -= Width, numbers += Width) std::reverse(numbers, numbers + Width);
}

} // namespace

void swap_bytes(std::byte* numbers, std::size_t size_bytes, std::size_t width) {
    if (width == 2) swap_words<2>(numbers, size_bytes);
    if (width == 4) swap_words<4>(numbers, size_bytes);
    if (width == 8) swap_words<8>(numbers, size_bytes);
}

} // namespace thalweg::source::raw
