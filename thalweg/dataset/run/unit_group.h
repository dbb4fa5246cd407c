// In a run that is ordered by key, work units come in groups of consecutive keys, and what is committed is a group: its
// number is what the table of units has as a key, and in place of a summary comes the list of its units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/dataset/journal/unit_key.h"
#include "thalweg/model/run.h"

namespace thalweg::dataset {

inline constexpr std::size_t kLongestGroupBytes = 512 << 10; // of the list: any piece of the table of units holds it

struct UnitOfGroup {
    std::int64_t key = 0;
    std::string summary;
    std::vector<std::uint64_t> rows; // by table, behind those of the units in front of it

    bool operator==(UnitOfGroup const&) const = default;
};

// As people read it: "group 3 (the keys 300 to 399)".
std::string name_of_group(std::int64_t group, std::uint64_t keys_per_group);

// The run is in the order of keys, in groups of so many; 0: in none. Throws base::UsageError where its container cannot
// hold it so. Pages and clusters of such a run end where their sizes say, and never where memory is full.
void set_order(std::string const& path, std::uint64_t keys_per_group, model::RunHead& head);
// Throws base::UsageError where others were asked for than the run has; 0: none were.
void check_same_order(std::string const& path, std::uint64_t asked, model::RunHead const& head);

std::string encode_group(std::vector<UnitOfGroup> const& units);
// Throws base::DataError where the bytes are no such list of units with rows in so many tables.
std::vector<UnitOfGroup> decode_group(std::string_view list, std::size_t tables);

} // namespace thalweg::dataset
