// The work units of a run as its file keeps them: docs/formats/units.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/unit_facts.h"
#include "thalweg/model/run.h"

namespace thalweg::dataset {

// Rows of a table, numbered as in the file.
struct UnitRange {
    std::uint32_t table = 0;
    std::uint32_t producer = 0;
    std::uint64_t first_row = 0;
    std::uint64_t rows = 0;

    bool operator==(UnitRange const&) const = default;
};

struct Unit {
    UnitKey key;
    std::string summary;
    std::vector<UnitRange> ranges;

    bool operator==(Unit const&) const = default;
};

// Returns the units with the places of their rows in the finished tables.
std::vector<Unit> place_units(std::vector<UnitFacts> const& units, model::RunHead const& head,
                              model::RunFacts const& facts);

// Empty for no units.
std::vector<std::byte> encode_units(std::vector<Unit> const& units);
// Returns the most bytes that the list takes in the finished file: `unit_bytes` for keys, summaries and numbers, and so
// many pages of rows.
std::uint64_t unit_list_bound(std::uint64_t unit_bytes, std::uint64_t pages);
// Throws base::DataError if the bytes are no such list.
std::vector<Unit> decode_units(std::span<std::byte const> bytes);

} // namespace thalweg::dataset
