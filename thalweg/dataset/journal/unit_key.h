// The key of a work unit: an integer, or text of at most 64 bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace thalweg::dataset {

inline constexpr std::size_t kLongestKeyBytes = 64;
inline constexpr std::size_t kLongestSummaryBytes = 64 << 10;

struct UnitKey {
    bool is_integer = true;
    std::int64_t integer = 0;
    std::string text; // any bytes

    UnitKey() = default;
    UnitKey(std::int64_t number) : integer(number) {}
    UnitKey(std::string bytes) : is_integer(false), text(std::move(bytes)) {}

    bool operator==(UnitKey const&) const = default;
    auto operator<=>(UnitKey const&) const = default; // NOLINT(modernize-use-nullptr): there is none

    // Its last 20 bits say where a table has the key. 2^20 consecutive integers, the first one a multiple of that,
    // differ in them: workers take most keys in turn, and then no look-up of one reads the entry of another.
    std::uint64_t hash() const;
    // As people read it: 17, or 'file-3'.
    std::string str() const;
};

// Returns the group of consecutive keys that an integer is in: group n has the keys from n * keys_in_group on.
std::int64_t group_of(std::int64_t key, std::uint64_t keys_in_group);

} // namespace thalweg::dataset
