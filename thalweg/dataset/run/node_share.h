// What a process knows that writes one node's part of a run of several nodes.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/dataset/run/parts_folder.h"
#include "thalweg/dataset/run/region_plan.h"

namespace thalweg::dataset {

struct NodeShare {
    NodeOfRun which;
    PartsFolder parts;
    RegionPlan plan;
    std::uint64_t timeout_ns; // so long one node waits for a sign of life of another

    // Tells all nodes that the run cannot be completed by them. The first one who says so is heard.
    void announce_failure(std::string const& why) const;
    // Empty where nobody has.
    std::string failure() const;
};

} // namespace thalweg::dataset
