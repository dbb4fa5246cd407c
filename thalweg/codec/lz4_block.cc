#include "thalweg/codec/lz4_block.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace thalweg::codec {
namespace {

// Most copies are shorter, and one of a constant size takes no branch; so where there is room, this many are copied.
constexpr std::size_t kWideBytes = 32;

// The format's rules about the end of a block. Because of them the next two bytes are always there to be read.
constexpr std::size_t kLastLiterals = 5;
constexpr std::size_t kLastMatchBegin = 12; // so far from the end, at least
constexpr std::size_t kShortestMatch = 4;
constexpr std::size_t kDistanceBytes = 2;
constexpr std::size_t kLastSequenceBytes = 1 + kLastLiterals;

constexpr std::size_t kNoLength = SIZE_MAX / 2; // longer than any buffer

// Half a token and, when that is 15, the bytes that go on. The first of them is taken without a branch, as it is there
// or not there by chance.
std::size_t read_length(unsigned nibble, std::byte const*& in, std::byte const* end) {
    std::size_t const goes_on = nibble == 15;
    auto byte = std::to_integer<std::size_t>(*in);
    std::size_t length = nibble + (byte & (0 - goes_on));
    in += goes_on;
    if ((goes_on & std::size_t{byte == 255}) == 0) [[likely]]
        return length;
    do {
        if (in == end) return kNoLength;
        byte = std::to_integer<std::size_t>(*in++);
        length += byte;
    } while (byte == 255);
    return length;
}

// Copies up to Step - 1 bytes too many. The source may lie Step bytes before the target, or further.
template <std::size_t Step> void copy_steps(std::byte* to, std::byte const* from, std::size_t count) {
    std::size_t at = 0;
    do {
        std::memcpy(to + at, from + at, Step);
        at += Step;
    } while (at < count);
}

// Distances below 8: as many whole periods as go into a word. It comes from one load, because to load what was stored
// just now takes the processor several steps.
void repeat_word(std::byte* to, std::size_t distance, std::size_t count) {
    static constexpr auto kRepeats = [] {
        std::array<std::uint64_t, 8> factors{};
        for (std::size_t period = 1; period < 8; ++period) {
            for (std::size_t at = 0; at < 8; at += period) factors[period] |= std::uint64_t{1} << 8 * at;
        }
        return factors;
    }();
    std::uint64_t word;
    std::memcpy(&word, to - distance, sizeof word);
    word = (word & ~std::uint64_t{0} >> (64 - 8 * distance)) * kRepeats[distance];
    for (std::size_t at = 0; at < count; at += 8 / distance * distance) std::memcpy(to + at, &word, sizeof word);
}

// Writes up to kWideBytes - 1 bytes too many. `count` is not 0.
void repeat_wide(std::byte* to, std::size_t distance, std::size_t count) {
    if (distance == 1) {
        std::byte const value = to[-1];
        std::memset(to, std::to_integer<int>(value), kWideBytes);
        if (count > kWideBytes) std::memset(to + kWideBytes, std::to_integer<int>(value), count - kWideBytes);
    } else if (distance >= kWideBytes) {
        copy_steps<kWideBytes>(to, to - distance, count);
    } else if (distance >= 16) {
        copy_steps<16>(to, to - distance, count);
    } else if (distance >= 8) {
        copy_steps<8>(to, to - distance, count);
    } else {
        repeat_word(to, distance, count);
    }
}

// Writes nothing behind `count`.
void repeat_exactly(std::byte* to, std::size_t distance, std::size_t count) {
    std::size_t done = 0;
    if (count > kWideBytes) repeat_wide(to, distance, done = count - kWideBytes);
    for (; done < count; ++done) to[done] = *(to + done - distance);
}

} // namespace

bool decode_lz4_block(std::span<std::byte const> stored, std::span<std::byte> raw, std::size_t slack) {
    if (raw.empty()) return stored.size() == 1 && stored[0] == std::byte{0};
    if (stored.size() < 2) return false;
    std::byte const* in = stored.data();
    std::byte const* const end = in + stored.size();
    std::byte* out = raw.data();
    std::size_t left = raw.size(); // still to be written
    for (;;) {
        auto const token = std::to_integer<unsigned>(*in++);
        std::size_t const literals = read_length(token >> 4, in, end);
        auto const readable = static_cast<std::size_t>(end - in);
        if (literals > readable || literals > left) return false;
        if (std::max(literals, kWideBytes) <= std::min(readable, left + slack)) [[likely]] {
            std::memcpy(out, in, kWideBytes);
            if (literals > kWideBytes) std::memcpy(out + kWideBytes, in + kWideBytes, literals - kWideBytes);
        } else {
            std::memcpy(out, in, literals);
        }
        in += literals;
        out += literals;
        left -= literals;
        if (literals == readable) return left == 0;

        if (readable - literals < kDistanceBytes + kLastSequenceBytes || left < kLastMatchBegin) return false;
        std::size_t const distance = std::to_integer<std::size_t>(in[0]) | std::to_integer<std::size_t>(in[1]) << 8;
        in += kDistanceBytes;
        std::size_t const length = kShortestMatch + read_length(token & 15, in, end);
        if (length + kLastLiterals > left || static_cast<std::size_t>(end - in) < kLastSequenceBytes) return false;
        if (distance == 0 || distance > raw.size() - left) return false;
        length + kWideBytes <= left + slack ? repeat_wide(out, distance, length)
                                            : repeat_exactly(out, distance, length);
        out += length;
        left -= length;
    }
}

} // namespace thalweg::codec
