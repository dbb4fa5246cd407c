// The plan of the regions of a run of several nodes in its file. Every node computes the same from the head of the run,
// so that to take a region is to take its number.
#pragma once

#include <cstdint>

#include "thalweg/format/format.h"
#include "thalweg/model/run.h"

namespace thalweg::dataset {

struct Region {
    std::uint32_t number = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    bool operator==(Region const&) const = default;
};

class RegionPlan {
  public:
    // Nothing of a region lies in front of `first_offset`. Every extent fits into the smallest one; the largest is
    // about what is allocated ahead.
    RegionPlan(std::uint64_t first_offset, std::uint32_t nodes, std::uint64_t largest_extent_bytes,
               std::uint64_t allocate_ahead_bytes);

    // Their sizes double from one round to the next, in which each node can take one: small files stay small, and of
    // large ones four regions a GiB are taken. It is empty where it lies in front of `first_offset`.
    Region region(std::uint32_t number) const;
    bool operator==(RegionPlan const&) const = default;

  private:
    std::uint64_t first_offset_;
    std::uint64_t nodes_;
    std::uint64_t smallest_bytes_ = 0;
    std::uint32_t doublings_ = 0;
};

// Returns the plan that follows from where the first page of a run may lie.
RegionPlan region_plan(format::Format const& format, model::RunHead const& head, std::uint32_t nodes);

} // namespace thalweg::dataset
