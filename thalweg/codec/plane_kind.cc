#include "thalweg/codec/plane_kind.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace thalweg::codec {
namespace {

constexpr std::size_t kSampleBytes = kLeastPlaneBytes; // strings are looked for in so much: its beginning
constexpr std::size_t kCountedBytes = 2048;            // and bytes counted in so much, from all over it
constexpr std::size_t kCountedAtOnce = 256;
constexpr std::size_t kMinRepeatedMatch = 4; // as zstd at its fast levels; other strings are of 6 bytes
constexpr std::size_t kTableBits = 10;
// What zstd takes for a string, about: one as far back as the last one was, and any other.
constexpr double kRepeatedStringBytes = 1.25, kStringBytes = 2;
constexpr double kCodeBytes = 60;    // a Huffman code of many symbols
constexpr double kNeverBelow = 1.05; // bits a symbol: the code has no shorter words

// Returns the entropy of a byte in bits. A sample shows less than there is, which the last term corrects (Miller,
// Madow).
double entropy_of(std::span<std::byte const> plane) {
    std::array<std::array<std::uint16_t, 256>, 2> counts{}; // two, so that equal neighbours need not wait
    auto const pieces = kCountedBytes / kCountedAtOnce;
    auto const step = (plane.size() - kCountedAtOnce) / (pieces - 1);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        auto const* bytes = plane.data() + piece * step;
        for (std::size_t i = 0; i < kCountedAtOnce; i += 2) {
            ++counts[0][std::to_integer<std::size_t>(bytes[i])];
            ++counts[1][std::to_integer<std::size_t>(bytes[i + 1])];
        }
    }
    static auto const weights = [] { // count * log2(count)
        std::array<float, kCountedBytes + 1> all{};
        for (std::size_t n = 1; n < all.size(); ++n) all[n] = static_cast<float>(n) * std::log2(static_cast<float>(n));
        return all;
    }();
    float sum = 0;
    unsigned symbols = 0;
    for (std::size_t value = 0; value < 256; ++value) {
        auto const count = static_cast<std::size_t>(counts[0][value] + counts[1][value]);
        sum += weights[count];
        symbols += count > 0 ? 1 : 0;
    }
    constexpr double kCounted = kCountedBytes;
    return std::log2(kCounted) - sum / kCounted + (symbols - 1) / (2 * kCounted * std::log(2.0));
}

struct Strings {
    std::size_t literals = 0; // bytes in none
    double bytes = 0;         // that all strings take
};

std::uint64_t word_at(std::byte const* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

// What a fast compressor finds: strings that were there before, by a hash of their first bytes.
Strings find_strings(std::span<std::byte const> sample) {
    std::array<std::uint16_t, 1 << kTableBits> table{};
    Strings found;
    auto const* const bytes = sample.data();
    auto const end = sample.size() - sizeof(std::uint64_t);
    std::size_t at = 1, begin = 0, last_distance = 0, misses = 0;
    while (at < end) {
        auto const word = word_at(bytes + at);
        auto& entry = table[(word << 16) * 0x9e3779b185ebca87u >> (64 - kTableBits)];
        std::size_t before = entry;
        entry = static_cast<std::uint16_t>(at);
        if (last_distance > 0 && ((word_at(bytes + at - last_distance) ^ word) & 0xffff'ffff) == 0) {
            before = at - last_distance;
        } else if (((word_at(bytes + before) ^ word) & 0xffff'ffff'ffff) != 0) {
            at += 1 + (misses++ >> 5); // through noise in ever longer steps
            continue;
        }
        misses = 0;
        auto length = kMinRepeatedMatch;
        while (at + length < sample.size() && bytes[at + length] == bytes[before + length]) ++length;
        auto const distance = at - before;
        found.literals += at - begin;
        found.bytes += distance == last_distance ? kRepeatedStringBytes : kStringBytes;
        last_distance = distance;
        at += length;
        begin = at;
    }
    found.literals += sample.size() - begin;
    return found;
}

} // namespace

PlaneKind kind_of_plane(std::span<std::byte const> plane) {
    auto const sample = plane.first(kSampleBytes);
    auto const entropy = entropy_of(plane);
    auto const strings = find_strings(sample);
    constexpr double kSample = kSampleBytes;
    // The code is told once a plane, and the sample is only a part of one.
    auto const code_bytes = std::min(kCodeBytes, kCodeBytes * kSample / static_cast<double>(plane.size()));
    auto const coded = [&](double bytes) {
        return std::min(bytes, bytes * std::max(entropy, kNeverBelow) / 8 + code_bytes);
    };
    auto const literals_bytes = coded(kSample);
    auto const matches_bytes = coded(static_cast<double>(strings.literals)) + strings.bytes;
    if (std::min(literals_bytes, matches_bytes) >= kSample * 63 / 64) return PlaneKind::noise;
    return literals_bytes <= matches_bytes + matches_bytes / 32 ? PlaneKind::literals : PlaneKind::matches;
}

} // namespace thalweg::codec
