// What the ranks say of their arrays, and what all of it comes to.
#pragma once

#include <string>
#include <vector>

#include "thalweg/checkpoint/layout.h"
#include "thalweg/checkpoint/ranks.h"

namespace thalweg::checkpoint {

// Of this rank. Throws base::UsageError for what no other rank is needed to refuse.
Json declare(std::vector<Array> const& arrays);

// Throws base::UsageError where the ranks disagree, or where their blocks are not whole arrays.
std::vector<ArrayPlan> plan_arrays(std::vector<Json> const& declarations);

} // namespace thalweg::checkpoint
