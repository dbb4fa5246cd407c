// Holds what the journal says about a work unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/dataset/journal/unit_key.h"

namespace thalweg::dataset {

// The rows of one producer in a work unit.
struct UnitPart {
    std::uint32_t producer;
    std::uint64_t first_row;
    std::uint64_t rows;

    bool operator==(UnitPart const&) const = default;
};

// As its worker committed it.
struct UnitFacts {
    UnitKey key;
    std::string summary;
    std::uint32_t parts_wanted = 0;
    std::vector<UnitPart> parts;
    std::uint32_t node = 0; // whose worker that was
};

} // namespace thalweg::dataset
