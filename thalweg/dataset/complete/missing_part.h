// Compares what nodes that have finished say of their parts with what this machine sees of them: a machine may keep for
// a while how a folder of several machines was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/node_folder/parts_folder.h"

namespace thalweg::dataset {

// Returns a sentence about each node whose part is not seen as a whole, and about each region of the file that two
// nodes took; none if all is there. A node that has not finished is not compared: what it had made durable counts.
std::vector<std::string> missing_parts(PartsFolder const& parts, std::uint32_t nodes, Gathered const& gathered);

} // namespace thalweg::dataset
