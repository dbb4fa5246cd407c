#include "thalweg/dataset/journal/unit_key.h"

#include "thalweg/base/checksum.h"

namespace thalweg::dataset {
namespace {

// Buckets of 4 bytes: a page of memory has 1024 of them in 64 cache lines. Neighbours are in the same page, which is
// mapped and soon in the cache, but in different lines: workers on several cores do not write the same ones.
constexpr std::uint64_t place_in_page(std::uint64_t number) { return (number & 63) << 4 | (number >> 6 & 15); }

std::uint64_t hash_of(std::int64_t integer) {
    constexpr unsigned kBlockBits = 20;
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15; // 2^64 by the golden ratio: multiples of it lie far apart
    auto const number = static_cast<std::uint64_t>(integer);
    auto const block = number >> kBlockBits;
    auto const within = number & ((1u << kBlockBits) - 1);
    return (within & ~std::uint64_t{1023}) + place_in_page(within) + (block * kGolden >> (64 - kBlockBits));
}

} // namespace

std::uint64_t UnitKey::hash() const {
    return is_integer ? hash_of(integer) : base::xxh3(std::as_bytes(std::span(text)));
}

std::string UnitKey::str() const { return is_integer ? std::to_string(integer) : "'" + text + "'"; }

std::int64_t group_of(std::int64_t key, std::uint64_t keys_in_group) {
    auto const count = static_cast<std::int64_t>(keys_in_group);
    return key / count - (key % count < 0 ? 1 : 0);
}

} // namespace thalweg::dataset
