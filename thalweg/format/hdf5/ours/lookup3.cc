#include "thalweg/format/hdf5/ours/lookup3.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace thalweg::format::hdf5::ours {
namespace {

constexpr std::size_t kRoundBytes = 12; // three words

struct Words {
    std::uint32_t a, b, c;

    void add(std::span<std::byte const> bytes) { // those that are missing count as zeros
        std::array<std::uint32_t, 3> words{};
        std::memcpy(words.data(), bytes.data(), bytes.size());
        a += words[0];
        b += words[1];
        c += words[2];
    }

    void mix() {
        for (auto const [first, second, third] : {std::array{4, 6, 8}, std::array{16, 19, 4}}) {
            a = (a - c) ^ std::rotl(c, first);
            c += b;
            b = (b - a) ^ std::rotl(a, second);
            a += c;
            c = (c - b) ^ std::rotl(b, third);
            b += a;
        }
    }

    void finish() {
        for (auto const [first, second, third] : {std::array{14, 11, 25}, std::array{16, 4, 14}}) {
            c = (c ^ b) - std::rotl(b, first);
            a = (a ^ c) - std::rotl(c, second);
            b = (b ^ a) - std::rotl(a, third);
        }
        c = (c ^ b) - std::rotl(b, 24);
    }
};

} // namespace

std::uint32_t lookup3(std::span<std::byte const> bytes) {
    auto const begin = 0xdeadbeefu + static_cast<std::uint32_t>(bytes.size());
    Words words{begin, begin, begin};
    if (bytes.empty()) return words.c;
    for (; bytes.size() > kRoundBytes; bytes = bytes.subspan(kRoundBytes)) {
        words.add(bytes.first(kRoundBytes));
        words.mix();
    }
    words.add(bytes);
    words.finish();
    return words.c;
}

} // namespace thalweg::format::hdf5::ours
