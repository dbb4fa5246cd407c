// In a run that is ordered by key, work units come in groups of consecutive keys, and what is committed is a group: its
// number is what the table of units has as a key, and in place of a summary comes the list of its units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/dataset/run/unit_key.h"
#include "thalweg/model/run.h"

namespace thalweg::dataset {

inline constexpr std::size_t kLongestGroupBytes = 16 << 20; // of the list

struct UnitOfGroup {
    std::int64_t key = 0;
    std::string summary;
    std::vector<std::uint64_t> rows; // by table, behind those of the units in front of it

    bool operator==(UnitOfGroup const&) const = default;
};

// Group n has the keys from n * keys_per_group on.
std::int64_t group_of(std::int64_t key, std::uint64_t keys_per_group);
// As people read it: "group 3 (the keys 300 to 399)".
std::string name_of_group(std::int64_t group, std::uint64_t keys_per_group);

// Throws base::UsageError where the container cannot hold a run in the order of the head.
void check_order(std::string const& path, model::RunHead const& head);

std::string encode_group(std::vector<UnitOfGroup> const& units);
// Throws base::DataError where the bytes are no such list of units with rows in so many tables.
std::vector<UnitOfGroup> decode_group(std::string_view list, std::size_t tables);

} // namespace thalweg::dataset
