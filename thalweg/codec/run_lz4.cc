#include "thalweg/codec/run_lz4.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace thalweg::codec {
namespace {

// A shorter run saves next to nothing, and costs the decoder as much as a long one.
constexpr std::size_t kShortestRun = 8;
// The format's own: the last five bytes of a block are literals, and its lengths begin at four.
constexpr std::size_t kLastLiterals = 5;
constexpr std::size_t kShortestMatch = 4;

// At least 57 bits from position `at` on; above them zeros.
std::uint64_t bits_from(std::uint64_t const* bits, std::size_t at) {
    std::uint64_t word;
    std::memcpy(&word, reinterpret_cast<std::byte const*>(bits) + at / 8, 8);
    return word >> (at % 8);
}

// Where the next kShortestRun set bits in a row begin; `end` when there are none.
std::size_t find_run(std::uint64_t const* bits, std::size_t at, std::size_t end) {
    for (; at < end; at += 57 - (kShortestRun - 1)) {
        std::uint64_t word = bits_from(bits, at);
        word &= word >> 1;
        word &= word >> 2;
        word &= word >> 4;
        if (word != 0) return at + std::countr_zero(word);
    }
    return end;
}

std::size_t end_of_run(std::uint64_t const* bits, std::size_t at) {
    for (;;) {
        auto const ones = static_cast<std::size_t>(std::countr_one(bits_from(bits, at)));
        at += ones;
        if (ones < 57) return at;
    }
}

std::byte* put_long_length(std::byte* out, std::size_t length) {
    std::memset(out, 0xFF, length / 255);
    out += length / 255;
    *out++ = std::byte(length % 255);
    return out;
}

std::byte* put_literals(std::byte* out, std::byte const* literals, std::size_t count) {
    if (count >= 15) {
        out = put_long_length(out, count - 15);
        std::memcpy(out, literals, count);
    } else {
        std::memcpy(out, literals, 16); // a constant size is one instruction; the margins allow it
    }
    return out + count;
}

std::byte token(std::size_t literals, std::size_t match) {
    return std::byte(std::min<std::size_t>(literals, 15) << 4 | std::min<std::size_t>(match, 15));
}

std::byte* put_sequence(std::byte* out, std::byte const* literals, std::size_t count, std::size_t run) {
    std::size_t const match = run - kShortestMatch;
    *out++ = token(count, match);
    out = put_literals(out, literals, count);
    *out++ = std::byte(1); // the match lies one byte back: a little-endian offset
    *out++ = std::byte(0);
    return match >= 15 ? put_long_length(out, match - 15) : out;
}

} // namespace

std::size_t RunLz4::encode(std::span<std::byte const> in, std::byte* out) {
    std::size_t const words = in.size() / 64 + 3; // one to mark the end, one to be read beyond it
    if (repeats_words_ < words) {
        repeats_ = std::make_unique_for_overwrite<std::uint64_t[]>(words);
        repeats_words_ = words;
    }
    std::uint64_t* const repeats = repeats_.get();
    std::size_t const end = in.size() < kLastLiterals ? 0 : in.size() - kLastLiterals;
    kernel_->mark_repeats(in.data(), end, repeats);
    repeats[0] &= ~std::uint64_t{1};
    repeats[end / 64] &= (std::uint64_t{1} << end % 64) - 1;
    repeats[end / 64 + 1] = 0;

    std::byte* const begin = out;
    std::size_t literals = 0; // where those not yet written begin
    for (std::size_t run = find_run(repeats, 0, end); run < end; run = find_run(repeats, literals, end)) {
        std::size_t const run_end = end_of_run(repeats, run + kShortestRun);
        out = put_sequence(out, in.data() + literals, run - literals, run_end - run);
        literals = run_end;
    }
    std::size_t const rest = in.size() - literals;
    *out++ = token(rest, 0);
    return static_cast<std::size_t>(put_literals(out, in.data() + literals, rest) - begin);
}

} // namespace thalweg::codec
