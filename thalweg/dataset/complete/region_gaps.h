// Finds bytes that no node of a run of several uses: ends of regions, and regions that were taken ahead.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/node_folder/region_plan.h"
#include "thalweg/format/format.h"

namespace thalweg::dataset {

struct Gap {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    bool operator==(Gap const&) const = default;
};

// In front of `facts.end_offset`, ascending.
std::vector<Gap> gaps_of(RegionPlan const& plan, std::vector<RegionUse> const& regions, model::RunFacts const& facts);

// Gives back the blocks of those in front of `end`, and marks them for readers that walk over the file. Can be
// repeated.
void mark_gaps(storage::Storage& file, format::Format const& format, Gathered const& gathered, std::uint64_t end);

} // namespace thalweg::dataset
