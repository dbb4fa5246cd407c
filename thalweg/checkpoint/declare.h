// Compares what the ranks declare about their arrays, and plans the file.
#pragma once

#include <string>
#include <vector>

#include "thalweg/checkpoint/layout.h"
#include "thalweg/checkpoint/ranks.h"

namespace thalweg::checkpoint {

// Returns the declaration of this rank. Throws base::UsageError for what can be refused without the other ranks.
Json declare(std::vector<Array> const& arrays);

// Throws base::UsageError if the ranks disagree, or if their blocks are not whole arrays.
std::vector<ArrayPlan> plan_arrays(std::vector<Json> const& declarations);

} // namespace thalweg::checkpoint
