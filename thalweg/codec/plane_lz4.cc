#include "thalweg/codec/plane_lz4.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "thalweg/base/assert.h"

namespace thalweg::codec {
namespace {

// A shorter run saves next to nothing, and costs the decoder as much as a long one.
constexpr std::size_t kShortestRun = 8;
// The format's own: the last five bytes of a block are literals, and its lengths begin at four.
constexpr std::size_t kEndLiterals = 5;
constexpr std::size_t kLeastMatch = 4;

// At least 57 bits from position `at` on; above them zeros.
std::uint64_t bits_from(std::uint64_t const* bits, std::size_t at) {
    std::uint64_t word;
    std::memcpy(&word, reinterpret_cast<std::byte const*>(bits) + at / 8, 8);
    return word >> (at % 8);
}

// Returns the place of the next kShortestRun set bits in a row, or `end` if there are none.
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

std::byte* put_sequence(std::byte* out, std::byte const* literals, std::size_t count, std::size_t distance,
                        std::size_t length) {
    std::size_t const match = length - kLeastMatch;
    *out++ = token(count, match);
    out = put_literals(out, literals, count);
    *out++ = std::byte(distance); // little-endian
    *out++ = std::byte(distance >> 8);
    return match >= 15 ? put_long_length(out, match - 15) : out;
}

// A bitmap, with a cursor, of the bytes that equal those a given distance back.
class Matches {
  public:
    // Only bytes from `distance` on and before `end` count. `bits` has room for end / 64 + 2 words.
    Matches(Kernel const& kernel, std::byte const* in, std::size_t end, std::size_t distance, std::uint64_t* bits)
        : bits_(bits), end_(end), distance_(distance) {
        std::fill(bits, bits + end / 64 + 2, 0);
        if (distance < end) {
            std::size_t const first = distance / 64;
            kernel.mark_repeats(in + 64 * first, end - 64 * first, distance, bits + first);
            bits[first] &= ~std::uint64_t{0} << distance % 64;
            bits[end / 64] &= (std::uint64_t{1} << end % 64) - 1;
        }
        begin_ = find_run(bits, 0, end);
    }

    void advance(std::size_t at) {
        if (begin_ < at) begin_ = find_run(bits_, at, end_);
    }
    std::size_t begin() const { return begin_; } // of the next match; the end when there is none
    std::size_t length() const { return end_of_run(bits_, begin_ + kShortestRun) - begin_; }
    std::size_t distance() const { return distance_; }

  private:
    std::uint64_t const* bits_;
    std::size_t end_;
    std::size_t distance_;
    std::size_t begin_;
};

} // namespace

std::size_t PlaneLz4::encode(std::span<std::byte const> in, std::size_t plane_bytes, std::byte* out) {
    std::size_t const end = in.size() < kEndLiterals ? 0 : in.size() - kEndLiterals;
    std::size_t const words = end / 64 + 2; // the last one is read beyond the end
    if (repeats_words_ < words) {
        repeats_ = std::make_unique_for_overwrite<std::uint64_t[]>(2 * words);
        repeats_words_ = words;
    }
    Matches runs(*kernel_, in.data(), end, 1, repeats_.get());
    Matches planes(*kernel_, in.data(), end, plane_bytes, repeats_.get() + words);

    std::byte* const begin = out;
    std::size_t literals = 0; // where those not yet written begin
    for (;;) {
        Matches const& next = runs.begin() < planes.begin() ? runs : planes;
        if (next.begin() >= end) break;
        std::size_t const length = next.length();
        THALWEG_ASSERT(next.begin() >= literals && next.begin() + length <= end,
                       "matches neither overlap nor reach the end");
        out = put_sequence(out, in.data() + literals, next.begin() - literals, next.distance(), length);
        literals = next.begin() + length;
        runs.advance(literals);
        planes.advance(literals);
    }
    std::size_t const rest = in.size() - literals;
    *out++ = token(rest, 0);
    return static_cast<std::size_t>(put_literals(out, in.data() + literals, rest) - begin);
}

} // namespace thalweg::codec
