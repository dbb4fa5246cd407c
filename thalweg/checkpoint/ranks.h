// What ranks use to agree, and the agreement about paths.
#pragma once

#include <string>
#include <vector>

#include "thalweg/ranks/agreement.h"
#include "thalweg/ranks/communicator.h"

namespace thalweg::checkpoint {

using ranks::agree;
using ranks::alone;
using ranks::Bytes;
using ranks::Communicator;
using ranks::Json;
using ranks::refuse;

// Returns what a rank says of its path.
Json said_path(std::string const& path);
// Throws base::UsageError if the ranks do not name the same file; they may spell it in different ways.
void check_same_path(std::vector<Json> const& said);

} // namespace thalweg::checkpoint
