// Checks that the blocks of all ranks are an array: each element once.
#pragma once

#include <string>
#include <vector>

#include "thalweg/checkpoint/array.h"

namespace thalweg::checkpoint {

struct OwnedBox {
    Box box;
    std::size_t rank = 0;
};

// Returns "" if they are; else a sentence about the first element that is outside, in several blocks or in none, and
// about the ranks of those blocks. Empty blocks do not count.
std::string why_not_whole(PerAxis const& shape, std::vector<OwnedBox> const& boxes);

} // namespace thalweg::checkpoint
